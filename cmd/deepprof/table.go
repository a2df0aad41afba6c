package main

// commands is the command table, in the order of --help.
func commands() []command {
	return []command{
		runCommand(),
		demoCommand(),
		analyzeCommand(),
		showCommand(),
		compareCommand(),
		baselineCommand(),
		exportCommand(),
		runsCommand(),
		serveCommand(),
		mcpCommand(),
		doctorCommand(),
		selfcheckCommand(),
		configCommand(),
		versionCommand(),
		completionCommand(),
		playCommand(),
		manCommand(),
	}
}
