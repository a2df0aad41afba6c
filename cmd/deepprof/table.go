package main

// commands is the command table, in the order of --help.
// A new command is a function that returns a row, and a line here.
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
