// Every form of NVTX range, for captures without a GPU.
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
#include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t dom;
static nvtxStringHandle_t reg;
static nvtxRangeId_t crossing;

static void rest(void) { usleep(300); }

static nvtxEventAttributes_t attr(const char *text) {
  nvtxEventAttributes_t a = {0};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.messageType = NVTX_MESSAGE_TYPE_ASCII;
  a.message.ascii = text;
  return a;
}

static void payloads(void) {
  nvtxEventAttributes_t a = attr("payload u64");
  a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64; a.payload.ullValue = 18446744073709551615ull;
  nvtxRangePushEx(&a); rest(); nvtxRangePop();
  a = attr("payload i64");
  a.payloadType = NVTX_PAYLOAD_TYPE_INT64; a.payload.llValue = -5;
  nvtxRangePushEx(&a); rest(); nvtxRangePop();
  a = attr("payload double");
  a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE; a.payload.dValue = 2.5;
  nvtxRangePushEx(&a); rest(); nvtxRangePop();
  a = attr("payload u32");
  a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32; a.payload.uiValue = 7;
  nvtxRangePushEx(&a); rest(); nvtxRangePop();
  a = attr("payload i32");
  a.payloadType = NVTX_PAYLOAD_TYPE_INT32; a.payload.iValue = -7;
  nvtxRangePushEx(&a); rest(); nvtxRangePop();
  a = attr("payload float");
  a.payloadType = NVTX_PAYLOAD_TYPE_FLOAT; a.payload.fValue = 0.5f;
  nvtxRangePushEx(&a); rest(); nvtxRangePop();
}

static void *worker(void *arg) {
  nvtxRangePushA("worker");
  for (int i = 0; i < 3; i++) { nvtxRangePushA("piece"); rest(); nvtxRangePop(); }
  nvtxRangeEnd(crossing);
  nvtxRangePop();
  nvtxRangePushA((const char *)arg); // never popped
  return 0;
}

int main(int argc, char **argv) {
  dom = nvtxDomainCreateA("engine");
  reg = nvtxDomainRegisterStringA(dom, "registered");
  nvtxNameCategoryA(3, "io");
  nvtxDomainNameCategoryA(dom, 4, "math");
  nvtxMarkA("begin");
  nvtxRangePushA("outer");
  for (int i = 0; i < 4; i++) {
    nvtxRangePushA("inner"); rest();
    nvtxEventAttributes_t a = attr("");
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED; a.message.registered = reg;
    a.category = 4; a.colorType = NVTX_COLOR_ARGB; a.color = 0xFF00FF00u;
    nvtxDomainRangePushEx(dom, &a); rest(); nvtxDomainRangePop(dom);
    nvtxRangePop();
  }
  nvtxEventAttributes_t c = attr("coloured");
  c.category = 3; c.colorType = NVTX_COLOR_ARGB; c.color = 0x80FF0000u;
  nvtxRangePushEx(&c); rest(); nvtxRangePop();
  payloads();
  nvtxRangePop();
  nvtxRangeId_t a = nvtxRangeStartA("first"); rest();
  nvtxRangeId_t b = nvtxRangeStartA("second"); rest();
  nvtxRangeEnd(a); rest();
  nvtxRangeEnd(b);
  nvtxRangePushA("slash/and@at, and \"quotes\""); rest(); nvtxRangePop();
  nvtxRangePushA("line\nbreak | pipe"); rest(); nvtxRangePop();
  if (argc > 1) nvtxRangePushA("bad \xff utf-8"), rest(), nvtxRangePop();
  nvtxRangePushW(L"w\u00efde"); rest(); nvtxRangePop();
  nvtxRangePushA(""); rest(); nvtxRangePop();
  crossing = nvtxRangeStartA("crossing threads");
  pthread_t t[2];
  pthread_create(&t[0], 0, worker, "left open");
  pthread_join(t[0], 0);
  crossing = nvtxRangeStartA("crossing threads");
  pthread_create(&t[1], 0, worker, "left open too");
  pthread_join(t[1], 0);
  nvtxRangeStartA("never ended");
  nvtxRangePushA("never popped"); rest();
  nvtxMarkA("end");
  return 0;
}
