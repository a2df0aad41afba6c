// A workload without a GPU for tests with the real profilers. Arguments are
// words: iters=N ms=N exit=N signal=N fork=N sleep=MS daemon=MS many=N, and
// the switches ignterm and nopop. It opens ranges prefill (push/pop) and
// decode (start/end) in each iteration.
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ignterm, nopop;

static void rest(int ms) {
	struct timespec t = {ms / 1000, (ms % 1000) * 1000000L};
	while (nanosleep(&t, &t) != 0)
		;
}

static void spin(int ms) {
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

static int word(int argc, char **argv, const char *name, int otherwise) {
	size_t n = strlen(name);
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], name, n) == 0 && argv[i][n] == '=')
			return atoi(argv[i] + n + 1);
	return otherwise;
}

static int on(int argc, char **argv, const char *name) {
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return 1;
	return 0;
}

int main(int argc, char **argv) {
	int iters = word(argc, argv, "iters", 3), ms = word(argc, argv, "ms", 10);
	int forks = word(argc, argv, "fork", 0), daemon_ms = word(argc, argv, "daemon", 0);
	int many = word(argc, argv, "many", 0), sleep_ms = word(argc, argv, "sleep", 0);
	ignterm = on(argc, argv, "ignterm");
	nopop = on(argc, argv, "nopop");
	if (ignterm)
		signal(SIGTERM, SIG_IGN);
	printf("prog: start\n");
	fflush(stdout);
	for (int i = 0; i < forks; i++)
		if (fork() == 0) {
			nvtxRangePushA("child");
			spin(ms);
			nvtxRangePop();
			_exit(0);
		}
	if (daemon_ms > 0 && fork() == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		rest(daemon_ms);
		_exit(0);
	}
	for (int i = 0; i < many; i++) {
		nvtxRangePushA("many");
		nvtxRangePop();
	}
	for (int i = 0; i < iters; i++) {
		nvtxRangePushA("prefill");
		spin(ms);
		if (!nopop)
			nvtxRangePop();
		nvtxRangeId_t r = nvtxRangeStartA("decode");
		spin(ms);
		nvtxRangeEnd(r);
		printf("prog: iteration %d\n", i);
		fflush(stdout);
	}
	if (sleep_ms > 0)
		rest(sleep_ms);
	for (int i = 0; i < forks; i++)
		wait(0);
	if (word(argc, argv, "signal", 0) != 0) {
		kill(getpid(), word(argc, argv, "signal", 0));
		rest(500);
	}
	printf("prog: done\n");
	return word(argc, argv, "exit", 0);
}
