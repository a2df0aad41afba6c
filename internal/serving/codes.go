package serving

import (
	"context"
	"fmt"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// Codes of what is stated about a server and its load. internal/message has their
// words; a comment names the parameters.
const (
	serverMeasured  fact.Code = "server-measured"
	serverProfiled  fact.Code = "server-profiled"     // n
	serverCounted   fact.Code = "server-counted"      // n
	somebodyAnswers fact.Code = "server-port-answers" // address
	portHolder      fact.Code = "port-holder"         // process; absent for another user's
	serverFlooded   fact.Code = "server-flooded"      // limit
	serverEnded     fact.Code = "server-ended"        // exit
	serverNoStart   fact.Code = "server-not-started"  // error
	causeServer     fact.Code = "cause-server"        // dir
	causeServerSlow fact.Code = "cause-server-slow"   // dir
	causeSilent     fact.Code = "cause-server-silent"
	loadFailed      fact.Code = "load-failed"
	noWindow        fact.Code = "server-no-window"
	serverOutlived  fact.Code = "server-outlived" // processes
	serverKilled    fact.Code = "server-killed"   // limit
	serverAlive     fact.Code = "server-alive"    // processes
	underNcu        fact.Code = "server-under-ncu"
	gaveUp          fact.Code = "server-gave-up" // said
	loadUnsteady    fact.Code = "load-unsteady"  // limit
	requestErrors   fact.Code = "request-errors" // n, of, kinds, sample
	noTokens        fact.Code = "no-tokens"
	windowLost      fact.Code = "window-lost" // error

	noTraffic      fact.Code = "no-traffic" // limit, url
	causeNoTraffic fact.Code = "cause-no-traffic"
	trafficless    fact.Code = "window-without-traffic" // window
	trafficUnseen  fact.Code = "traffic-unseen"

	// What a run tells while it goes on.
	trafficAwaited fact.Code = "traffic-awaited" // step, url, limit
	trafficCame    fact.Code = "traffic-came"    // step, time
	serverReady    fact.Code = "server-ready"    // step, time
	serverWindow   fact.Code = "server-window"   // step, window
	profilerSwitch fact.Code = "profiler-switch" // url, status, error, answer
	gateShut       fact.Code = "gate-not-opened" // error
)

// PortTaken is the outcome of a server whose port somebody else has; false where
// it is free.
func PortTaken(ctx context.Context, url string) (capture.Outcome, bool) {
	holder, taken := Taken(ctx, url)
	if !taken {
		return capture.Outcome{}, false
	}
	o := capture.Verdict(capture.PortTaken, fact.New(somebodyAnswers, fact.Name("address", Address(url))))
	o.Evidence = fact.New(portHolder)
	if holder != "" {
		o.Evidence = fact.New(portHolder, fact.Name("process", holder))
	}
	return o, true
}

// processesParam names processes.
func processesParam[T fmt.Stringer](list []T) fact.Param {
	var names []string
	for _, p := range list {
		names = append(names, tool.Quote(p.String()))
	}
	return fact.Names("processes", fact.KindName, names)
}
