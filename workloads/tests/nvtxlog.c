/* A library in place of NVTX that writes what is opened and closed to a file: for tests on a torch without NVTX. */
#include <stdio.h>
#include <stdlib.h>

static void line(const char *text)
{
	FILE *f = fopen(getenv("NVTX_LOG"), "a");
	if (f) {
		fprintf(f, "%s\n", text);
		fclose(f);
	}
}

int nvtxRangePushA(const char *name)
{
	line(name);
	return 0;
}

int nvtxRangePop(void)
{
	line("<");
	return 0;
}
