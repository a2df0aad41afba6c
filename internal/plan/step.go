package plan

// Names of the pipeline steps, in the order in which they run. internal/pipeline
// has the table of what each does. What a session of a shipped workload writes
// lies in a folder of the name of its step.
const (
	StepProvenance      = "provenance"
	StepUnprofiled      = "unprofiled"
	StepAnnotateCost    = "annotate_cost"
	StepDirectInference = "direct_inference"
	StepStaticAnalysis  = "static_analysis"
	StepTorchProfiler   = "torch_profiler"
	StepTorchFlops      = "torch_flops"
	StepNsys            = "nsys"
	StepFirstAnswer     = "first_answer"
	StepRepeats         = "repeats"
	StepNcu             = "ncu"
	StepReport          = "report"
)
