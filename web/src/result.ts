// Generated from analysis.Result by go generate ./internal/report/html. Not to be edited.

export interface Result {
  schema: number;
  deepprof_version?: string;
  preliminary?: boolean;
  source: Source;
  environment: Environment;
  workload: Workload;
  totals: Totals;
  scope?: Scope;
  stages: Stage[] | null;
  regions: Region[] | null;
  region_groups?: Region[] | null;
  kernels: Kernel[] | null;
  kernels_rest?: Rest;
  categories: CategoryTime[] | null;
  operators?: Operator[] | null;
  operators_profiled?: Profiled;
  roofline: Roofline;
  opportunities: Opportunity[] | null;
  findings: Finding[] | null;
  parts?: Part[] | null;
  across?: Across;
  job?: Job;
  sampled?: SampledRegion[] | null;
  baseline?: Baseline;
  modules?: ModuleBox[] | null;
  steps?: StepTimes;
  sampling?: Sampling;
  serving?: Serving;
  overview: Overview;
  method: Method;
  warnings?: Note[] | null;
  missing?: Note[] | null;
}

export interface Source {
  run?: string;
  created?: string;
  status?: string;
  recorded?: boolean;
  origin?: string;
  files: File[] | null;
}

export interface Environment {
  gpus: GPU[] | null;
  host?: string;
  cpu?: string;
  os?: string;
  driver?: string;
  cuda?: string;
  nsys?: string;
  ncu?: string;
  software?: Fact[] | null;
}

export interface Workload {
  kind?: string;
  command?: string[] | null;
  model?: Model;
  shape?: Fact[] | null;
}

export interface Totals {
  wall_ns: number;
  wall_ns_text: string;
  gpu_span_ns: number;
  gpu_span_ns_text: string;
  busy_ns: number;
  busy_ns_text: string;
  busy_share?: number;
  busy_share_text?: string;
  kernel_ns: number;
  kernel_ns_text: string;
  copy_ns: number;
  copy_ns_text: string;
  launches: number;
  kernel_names: number;
  copies: number;
  copy_bytes: number;
  copy_bytes_text: string;
  sets: number;
  set_ns: number;
  set_ns_text: string;
  set_bytes: number;
  set_bytes_text: string;
  devices?: DeviceBusy[] | null;
  communication?: Communication;
  split?: Split;
  aggregates?: Aggregate[] | null;
}

export interface Scope {
  expressions: string[] | null;
  exclude?: string[] | null;
  default?: boolean;
  regions: string[] | null;
  name: string;
  name_short?: string;
  text: string;
  text_short?: string;
  start_ns: number;
  start_ns_text: string;
  end_ns: number;
  end_ns_text: string;
  wall_ns: number;
  wall_ns_text: string;
  busy_ns: number;
  busy_ns_text: string;
  busy_share?: number;
  busy_share_text?: string;
  kernel_ns: number;
  kernel_ns_text: string;
  launches: number;
  kernel_names: number;
  outside_kernel_ns: number;
  outside_kernel_ns_text: string;
  outside_launches: number;
  split?: Split;
}

export interface Stage {
  name: string;
  region?: string;
  regions?: string[] | null;
  steps?: boolean;
  clean_ms?: number;
  clean_ms_text?: string;
  clean_std_ms?: number;
  clean_std_ms_text?: string;
  nsys_ms?: number;
  nsys_ms_text?: string;
  nsys_clock?: string;
  host_ms?: number;
  host_ms_text?: string;
  range_ms?: number;
  range_ms_text?: string;
  clean_times?: Spread;
  nsys_times?: Spread;
  synchronous?: boolean;
  lead?: Lead;
  overhead?: number;
  overhead_high?: boolean;
  overhead_why?: string;
  overhead_why_short?: string;
  passes?: number;
  typical?: Typical;
  sub?: SubMS[] | null;
  tokens_per_s?: number;
  tokens_per_s_text?: string;
  split: Split;
  host_frames?: HostFrame[] | null;
  launch_gain?: Bound;
  clean_busy?: number;
  kernels?: number;
  graph_kernels?: number;
  mfu?: Utilization[] | null;
  hfu?: Utilization[] | null;
  mbu?: Utilization[] | null;
  flops?: number;
  bytes?: number;
}

export interface Region {
  path: string;
  name: string;
  parent: number;
  depth: number;
  process?: number;
  device?: number;
  style?: string;
  source?: string;
  domain?: string;
  times?: string;
  ncu_ns?: number;
  ncu_ns_text?: string;
  instances: number;
  wall_ns: number;
  wall_ns_text: string;
  projected_ns: number;
  projected_ns_text: string;
  kernels: number;
  kernel_ns: number;
  kernel_ns_text: string;
  self_kernels: number;
  self_kernel_ns: number;
  self_kernel_ns_text: string;
  split: Split;
  synchronous?: boolean;
  async_instances?: number;
  lead?: Lead;
  group?: string;
  min_ns?: number;
  min_ns_text?: string;
  median_ns?: number;
  median_ns_text?: string;
  max_ns?: number;
  max_ns_text?: string;
  outliers?: number;
  scope_kernel_ns?: number;
  scope_kernel_ns_text?: string;
  share?: number;
  share_text?: string;
  limiter?: RegionLimiter;
  coverage?: number;
  coverage_text?: string;
  members?: number[] | null;
  slowest?: string;
  counters?: RegionCounters;
  top?: RegionKernel[] | null;
  why?: string;
  why_short?: string;
}

export interface Kernel {
  attained_label?: string;
  id: string;
  name: string;
  short: string;
  mangled?: string;
  grid: number[];
  block: number[];
  category: string;
  rule?: string;
  untimed?: boolean;
  calls: number;
  total_ns: number;
  total_ns_text: string;
  mean_ns: number;
  mean_ns_text: string;
  median_ns: number;
  median_ns_text: string;
  min_ns: number;
  min_ns_text: string;
  max_ns: number;
  max_ns_text: string;
  stddev_ns: number;
  stddev_ns_text: string;
  share: number;
  share_text: string;
  stages?: StageTime[] | null;
  histogram?: Histogram;
  places?: LaunchPlace[] | null;
  steps?: KernelSteps;
  registers?: number;
  static_shared_bytes?: number;
  static_shared_bytes_text?: string;
  dynamic_shared_bytes?: number;
  dynamic_shared_bytes_text?: string;
  waves?: number;
  waves_text?: string;
  reason?: string;
  reason_short?: string;
  counted?: Counted;
  limiter: Limiter;
  other_limiters?: OtherLimiter[] | null;
  points?: Point[] | null;
  no_point?: string;
  no_point_short?: string;
  points_note?: string;
  points_note_short?: string;
  attained?: number;
  attained_text?: string;
  attained_of?: string;
  attained_metric?: string;
}

export interface Rest {
  kernels: number;
  calls: number;
  ns: number;
  ns_text: string;
  share?: number;
  share_text?: string;
}

export interface CategoryTime {
  id: string;
  label: string;
  ns: number;
  ns_text: string;
  calls: number;
  share: number;
  share_text: string;
  unmatched?: string[] | null;
}

export interface Operator {
  name: string;
  shapes?: string;
  calls: number;
  self_cpu_us: number;
  total_cpu_us: number;
  self_device_us: number;
  total_device_us: number;
  share?: number;
  share_text?: string;
  kernels?: string[] | null;
  why?: string;
  why_short?: string;
  links?: OperatorKernel[] | null;
  links_more?: KernelSum;
  limiter?: OperatorLimiter;
  modules?: OperatorModule[] | null;
}

export interface Profiled {
  prompt_tokens?: number;
  new_tokens?: number;
  operator_us: number;
  kernel_us: number;
  text: string;
}

export interface Roofline {
  roofs: Peak[] | null;
  points: Point[] | null;
  why?: string;
  why_short?: string;
  clocks?: ClockPair;
}

export interface Opportunity {
  id: string;
  kind: string;
  title: string;
  title_short?: string;
  stage?: string;
  kernels?: string[] | null;
  seconds: number;
  seconds_text: string;
  estimate_s?: number;
  estimate_s_text?: string;
  estimated?: boolean;
  speedup: number;
  speedup_text: string;
  of_ns: number;
  of_ns_text: string;
  share?: number;
  share_text?: string;
  times: string;
  stage_gain?: number;
  stage_gain_text?: string;
  evidence: Evidence[] | null;
  assumption: string;
  how: string;
}

export interface Finding {
  text: string;
  plain?: string;
  next?: string;
  id: string;
  weight: string;
  code: string;
}

export interface Part {
  file: string;
  of: Identity;
  details?: boolean;
  lost?: string;
  lost_short?: string;
  start_utc?: string;
  wall_ns: number;
  wall_ns_text: string;
  busy_ns: number;
  busy_ns_text: string;
  kernel_ns: number;
  kernel_ns_text: string;
  copy_ns: number;
  copy_ns_text: string;
  launches: number;
  communication?: Communication;
  stages: PartStage[] | null;
  steps?: StepGroup[] | null;
  over_median?: number;
}

export interface Across {
  by: string[] | null;
  parts: number;
  times: Distribution[] | null;
  stages: Distribution[] | null;
  kernels: KernelAcross[] | null;
  kernels_cut?: number;
}

export interface Job {
  world?: number;
  missing?: number[] | null;
  nodes?: Node[] | null;
  clock: Clock;
  collectives: Collective[] | null;
  waits?: RankWait[] | null;
  matched: number;
  unmatched?: number;
  why?: string;
  why_short?: string;
}

export interface SampledRegion {
  path: string;
  instances: number;
  span_ns: number;
  span_ns_text: string;
  metrics: Sampled[] | null;
}

export interface Baseline {
  name: string;
  measures?: BaselineMeasure[] | null;
  kernels?: BaselineKernel[] | null;
  uses?: BaselineUse[] | null;
}

export interface ModuleBox {
  name: string;
  path: string;
  depth: number;
  from: number;
  share: number;
  share_text: string;
  ns: number;
  ns_text: string;
  own_ns: number;
  own_ns_text: string;
  calls: number;
}

export interface StepTimes {
  groups: StepTime[] | null;
  strip?: LayerStrip;
}

export interface Sampling {
  rate_hz: number;
  rate_hz_text: string;
  readings: number;
  gpus: number;
}

export interface Serving {
  engine: string;
  load: string;
  shape?: Shape;
  steady: boolean;
  windows: ServingWindow[] | null;
  collecting?: ServingCost;
  session?: ServingCost;
  steps?: StepClass[] | null;
  next_token?: NextToken;
  over_time?: StepsAt[] | null;
}

export interface Overview {
  start_ns: number;
  start_ns_text: string;
  end_ns: number;
  end_ns_text: string;
  names: string[] | null;
  lanes: Lane[] | null;
  counters?: CounterLane[] | null;
  ranks?: RankLane[] | null;
  rank_names?: string[] | null;
}

export interface Method {
  commands?: StageCommand[] | null;
  unprofiled_s?: number;
  unprofiled_s_text?: string;
  overhead_limit?: number;
  deviations?: Deviation[] | null;
  ladder?: Note[] | null;
  picked?: Picked;
  clock?: string;
  clock_short?: string;
  thresholds?: Fact[] | null;
  assumptions?: Note[] | null;
  annotation?: Note[] | null;
}

export interface Note {
  text: string;
  plain?: string;
  next?: string;
  code: string;
  step?: string;
  stage?: string;
  file?: string;
  scope?: string;
}

export interface File {
  path: string;
  kind: string;
  bytes: number;
  sha256?: string;
  of?: Identity;
}

export interface GPU {
  device: number;
  name: string;
  chip?: string;
  compute?: string;
  sms?: number;
  memory_bytes?: number;
  memory_bytes_text?: string;
  peaks: Peak[] | null;
}

export interface Fact {
  title?: string;
  name: string;
  value: string;
}

export interface Model {
  name?: string;
  family?: string;
  parameters?: number;
  weights_bytes?: number;
  weights_bytes_text?: string;
  layers?: number;
  dtype?: string;
  attention?: string;
  kv_cache?: string;
}

export interface DeviceBusy {
  device: number;
  busy_ns: number;
  busy_ns_text: string;
  share?: number;
  share_text?: string;
  kernel_ns: number;
  kernel_ns_text: string;
  launches: number;
}

export interface Communication {
  launches: number;
  ns: number;
  ns_text: string;
  exposed_ns: number;
  exposed_ns_text: string;
  overlapped_ns: number;
  overlapped_ns_text: string;
}

export interface Split {
  wall_ns: number;
  wall_ns_text: string;
  busy_ns: number;
  busy_ns_text: string;
  idle_ns: number;
  idle_ns_text: string;
  busy: TimePart[] | null;
  idle: TimePart[] | null;
  launch_bound: boolean;
  gain_ns?: number;
  gain_ns_text?: string;
  host_ns?: number;
  host_ns_text?: string;
  busy_share?: number;
  busy_share_text?: string;
  idle_share?: number;
  idle_share_text?: string;
  host_share?: number;
  host_share_text?: string;
  limiter?: TimeLimiter;
}

export interface Aggregate {
  name: string;
  unit: string;
  n: number;
  mean: number;
  std: number;
  min: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
  few?: boolean;
}

export interface Spread {
  n: number;
  median_ms: number;
  median_ms_text: string;
  min_ms: number;
  min_ms_text: string;
  max_ms: number;
  max_ms_text: string;
  std_ms: number;
  std_ms_text: string;
}

export interface Lead {
  ns: number;
  ns_text: string;
  idle: TimePart[] | null;
}

export interface Typical {
  kind: string;
  start_ns: number;
  start_ns_text: string;
  end_ns: number;
  end_ns_text: string;
}

export interface SubMS {
  name: string;
  ms: number;
  ms_text: string;
}

export interface HostFrame {
  function: string;
  file: string;
  line: number;
  samples: number;
}

export interface Bound {
  ns: number;
  ns_text: string;
  of_ns: number;
  of_ns_text: string;
  times: string;
  share?: number;
  share_text?: string;
}

export interface Utilization {
  method: string;
  value?: number;
  value_text?: string;
  at_least?: boolean;
  achieved?: number;
  peak: Peak;
  seconds?: number;
  seconds_text?: string;
  coverage?: number;
  coverage_text?: string;
  contradiction?: boolean;
  raw?: number;
  roof?: Peak;
  of_roof?: number;
  why?: string;
}

export interface RegionLimiter {
  label: string;
  kind: string;
  units: string[] | null;
  share?: number;
  share_text?: string;
}

export interface RegionCounters {
  method: string;
  coverage: number;
  coverage_text: string;
  metrics: RegionMetric[] | null;
  note?: string;
  scaled_ns?: number;
  scaled_ns_text?: string;
  elsewhere_ns?: number;
  elsewhere_ns_text?: string;
  partial?: boolean;
  elsewhere?: number;
  limiter?: Limiter;
  point?: Point[] | null;
  exclusive?: ExclusiveCounters;
}

export interface RegionKernel {
  kernel: number;
  calls: number;
  ns: number;
  ns_text: string;
  own_calls?: number;
  own_ns?: number;
  own_ns_text?: string;
  share?: number;
  share_text?: string;
  mean_ns?: number;
  mean_ns_text?: string;
  basis_ns?: number;
  basis_ns_text?: string;
}

export interface StageTime {
  stage: string;
  calls: number;
  ns: number;
  ns_text: string;
  share?: number;
  share_text?: string;
}

export interface Histogram {
  bounds: number[] | null;
  bounds_text: string[] | null;
  counts: number[] | null;
}

export interface LaunchPlace {
  stage: string;
  module: string;
  calls: number;
  ns: number;
  ns_text: string;
  share: number;
  share_text: string;
}

export interface KernelSteps {
  steps: number;
  of: number;
  launches_mean: number;
  launches_mean_text: string;
}

export interface Counted {
  report: string;
  launch: number;
  duration_ns?: number;
  duration_ns_text?: string;
  clock_hz?: number;
  clock_hz_text?: string;
  passes?: number;
  verified: boolean;
  note?: string;
  timeline_ns?: number;
  timeline_ns_text?: string;
  work?: Work;
  memory?: MemoryChart;
  stalls?: Stall[] | null;
  others?: number;
  metrics: Metric[] | null;
  rules?: RuleWords[] | null;
}

export interface Limiter {
  label: string;
  level_label?: string;
  kind: string;
  units: string[] | null;
  detail?: string;
  level?: number;
  level_text?: string;
  evidence?: Evidence[] | null;
  why: string;
  need?: string;
  need_short?: string;
  cause?: Cause;
}

export interface OtherLimiter {
  report: string;
  launch: number;
  timeline_ns: number;
  timeline_ns_text: string;
  calls: number;
  share: number;
  share_text: string;
  limiter: Limiter;
}

export interface Point {
  kernel: string;
  dtype: string;
  memory: string;
  intensity: number;
  intensity_text: string;
  flops: number;
  flops_text: string;
  attained: number;
  attained_text: string;
  ns: number;
  ns_text: string;
}

export interface OperatorKernel {
  kernel?: string;
  name: string;
  calls: number;
  us: number;
  own: boolean;
  by?: string;
}

export interface KernelSum {
  kernels: number;
  calls: number;
  us: number;
}

export interface OperatorLimiter {
  label: string;
  kind: string;
  units: string[] | null;
  share: number;
  share_text: string;
  coverage: number;
  coverage_text: string;
  why?: string;
  why_short?: string;
}

export interface OperatorModule {
  name: string;
  calls: number;
  us: number;
}

export interface Peak {
  label: string;
  id: string;
  value: number;
  value_text: string;
  unit: string;
  clock_hz?: number;
  clock_hz_text?: string;
  clock?: string;
  clock_short?: string;
  measured: boolean;
  basis: string;
  basis_short?: string;
  gpus?: number;
  published?: boolean;
}

export interface ClockPair {
  peak: Peak;
  roof: Peak;
}

export interface Evidence {
  metric?: string;
  of?: string;
  of_short?: string;
  value: number;
  value_text: string;
  unit?: string;
  threshold?: string;
  threshold_short?: string;
}

export interface Identity {
  rank?: number;
  local?: number;
  world?: number;
  host?: string;
  process?: number;
  device?: number;
  window?: number;
  repeat?: number;
}

export interface PartStage {
  stage: string;
  passes: number;
  wall_ns: number;
  wall_ns_text: string;
  pass_ns: number;
  pass_ns_text: string;
  over_median?: number;
  busy_ns?: number;
  busy_ns_text?: string;
  launches?: number;
}

export interface StepGroup {
  stage: string;
  steps: number;
  step_median_ns: number;
  step_median_ns_text: string;
  step_min_ns: number;
  step_min_ns_text: string;
  step_max_ns: number;
  step_max_ns_text: string;
  step_p90_ns: number;
  step_p90_ns_text: string;
  gpu_median_ns: number;
  gpu_median_ns_text: string;
  gap_before_median_ns?: number;
  gap_before_median_ns_text?: string;
  gap_before_max_ns?: number;
  gap_before_max_ns_text?: string;
  launches_median: number;
  slowest: number[] | null;
}

export interface Distribution {
  name: string;
  n: number;
  sum_ns: number;
  sum_ns_text: string;
  min_ns: number;
  min_ns_text: string;
  median_ns: number;
  median_ns_text: string;
  max_ns: number;
  max_ns_text: string;
  std_ns: number;
  std_ns_text: string;
  least: number;
  most: number;
}

export interface KernelAcross {
  name: string;
  category: string;
  parts: number;
  launches: number;
  sum_ns: number;
  sum_ns_text: string;
  min_ns: number;
  min_ns_text: string;
  max_ns: number;
  max_ns_text: string;
  most: number;
}

export interface Node {
  host: string;
  ranks: number[] | null;
  wall_ns: number;
  wall_ns_text: string;
  busy_ns: number;
  busy_ns_text: string;
  kernel_ns: number;
  kernel_ns_text: string;
  launches: number;
  communication_ns: number;
  communication_ns_text: string;
  exposed_ns: number;
  exposed_ns_text: string;
  slowest: number;
}

export interface Clock {
  method: string;
  uncertainty_ns?: number;
  uncertainty_ns_text?: string;
  offsets_ns?: number[] | null;
}

export interface Collective {
  kind: string;
  source: string;
  ranks: number;
  launches: number;
  ns: number;
  ns_text: string;
  exposed_ns?: number;
  exposed_ns_text?: string;
  matched: number;
  transfer_ns: number;
  transfer_ns_text: string;
  wait_ns: number;
  wait_ns_text: string;
  bytes?: number;
  bus_bandwidth?: number;
  sizes?: MessageSize[] | null;
  sizes_cut?: number;
}

export interface RankWait {
  part: number;
  transfer_ns: number;
  transfer_ns_text: string;
  wait_ns: number;
  wait_ns_text: string;
  late: number;
  late_ns: number;
  late_ns_text: string;
  meanwhile?: TimePart[] | null;
}

export interface Sampled {
  metric: string;
  mean: number;
  error: number;
  samples: number;
}

export interface BaselineMeasure {
  name: string;
  median: number;
  change_share: number;
  change_share_text: string;
}

export interface BaselineKernel {
  kernel: string;
  calls: number;
  total_ns: number;
  total_ns_text: string;
  median_ns: number;
  median_ns_text: string;
  change_share: number;
  change_share_text: string;
}

export interface BaselineUse {
  name: string;
  stage: string;
  share: number;
  share_text: string;
}

export interface StepTime {
  stage: string;
  steps: number;
  step_median_ns: number;
  step_median_ns_text: string;
  step_min_ns: number;
  step_min_ns_text: string;
  step_max_ns: number;
  step_max_ns_text: string;
  step_p90_ns: number;
  step_p90_ns_text: string;
  gpu_median_ns: number;
  gpu_median_ns_text: string;
  gap_before_median_ns?: number;
  gap_before_median_ns_text?: string;
  gap_before_max_ns?: number;
  gap_before_max_ns_text?: string;
  launches_median: number;
  slowest: number[] | null;
  histogram?: Histogram;
}

export interface LayerStrip {
  layers: string[] | null;
  columns: StripColumn[] | null;
  cells: (number[] | null)[] | null;
  percent: (number[] | null)[] | null;
  outliers?: StripOutlier[] | null;
}

export interface Shape {
  endpoint: string;
  model: string;
  concurrency: number;
  rate?: number;
  prompt: string;
  output: string;
  seed: number;
}

export interface ServingWindow {
  start: string;
  name: string;
  kind: string;
  from_ns: number;
  from_ns_text: string;
  to_ns: number;
  to_ns_text: string;
  stats?: Stats;
  report?: string;
  kernels?: number;
  cut?: boolean;
  connections?: number;
  engine_steps?: number;
  cache_use?: number;
  memory_peak_bytes?: number;
  memory_peak_bytes_text?: string;
  gpu_memory_used_bytes?: number;
  gpu_memory_used_bytes_text?: string;
  cache_read_tokens?: number;
}

export interface ServingCost {
  throughput_loss?: number;
  time_between_tokens_more?: number;
  ttft_more?: number;
}

export interface StepClass {
  kind: string;
  batch_min: number;
  batch_max: number;
  steps: number;
  context_tokens?: number;
  generation_tokens?: number;
  context_tokens_spread?: Summary;
  generation_tokens_spread?: Summary;
  time_ns: Summary;
  busy_ns: Summary;
  gap_before_ns: Summary;
  gpu_ns: Summary;
  launches: number;
  share: number;
  share_text: string;
  time_histogram?: Histogram;
  busy_histogram?: Histogram;
  gap_histogram?: Histogram;
  sampled?: Sampled[] | null;
  context?: number;
  cache_read?: number;
  flops?: number;
  bytes?: number;
  mfu?: Utilization;
  mbu?: Utilization;
  roof?: string;
  kernels?: StepPart[] | null;
  layers?: StepPart[] | null;
}

export interface NextToken {
  steps: number;
  period_ns: number;
  period_ns_text: string;
  busy_ns: number;
  busy_ns_text: string;
  idle_ns: number;
  idle_ns_text: string;
  mixed_ns: number;
  mixed_ns_text: string;
  prefill_ns: number;
  prefill_ns_text: string;
  gap_ns: number;
  gap_ns_text: string;
  other_ns: number;
  other_ns_text: string;
}

export interface StepsAt {
  window: number;
  start_ns: number;
  start_ns_text: string;
  length_ns: number;
  length_ns_text: string;
  steps: number;
  context_tokens: number;
  generation_tokens: number;
  step_mean_ns: number;
  step_mean_ns_text: string;
  busy_share: number;
  busy_share_text: string;
  gap_before_mean_ns: number;
  gap_before_mean_ns_text: string;
}

export interface Lane {
  kind: string;
  label: string;
  group: string;
  depth?: number;
  exact: boolean;
  events: number;
  bin_ns?: number;
  bin_ns_text?: string;
  busy_ns?: number;
  busy_ns_text?: string;
  share?: number;
  share_text?: string;
  top?: LaneTop[] | null;
  boxes: Box[] | null;
}

export interface CounterLane {
  label: string;
  device: number;
  metric: string;
  start_ns: number;
  start_ns_text: string;
  bin_ns: number;
  bin_ns_text: string;
  values: number[] | null;
}

export interface RankLane {
  part: number;
  folded?: boolean;
  lane: Lane;
}

export interface StageCommand {
  stage: string;
  command: string;
  seconds?: number;
  seconds_text?: string;
  outcome?: string;
}

export interface Deviation {
  stage?: string;
  key: string;
  configured: string;
  used: string;
  why: string;
}

export interface Picked {
  groups: number;
  chosen: number;
  counted: number;
  coverage: number;
  coverage_text: string;
  coverage_all: number;
  coverage_all_text: string;
  by_region?: RegionCoverage[] | null;
  left_out?: Note[] | null;
  cut_off?: Note[] | null;
  begins?: string;
  begins_short?: string;
  predicted_s?: number;
  predicted_s_text?: string;
  actual_s?: number;
  actual_s_text?: string;
}

export interface TimePart {
  id: string;
  label?: string;
  ns: number;
  ns_text: string;
  share?: number;
  share_text?: string;
}

export interface TimeLimiter {
  kind: string;
  part?: string;
  label?: string;
}

export interface RegionMetric {
  text: string;
  name: string;
  how: string;
  coverage?: number;
  coverage_text?: string;
}

export interface ExclusiveCounters {
  coverage: number;
  coverage_text: string;
  metrics: RegionMetric[] | null;
}

export interface Work {
  flops?: number;
  dram_bytes?: number;
  dram_bytes_text?: string;
}

export interface MemoryChart {
  flows: MemoryFlow[] | null;
  l1_hit_share?: number;
  l1_hit_share_text?: string;
  l2_hit_share?: number;
  l2_hit_share_text?: string;
}

export interface Stall {
  label: string;
  reason: string;
  share: number;
  share_text: string;
}

export interface Metric {
  text: string;
  section?: string;
  name: string;
  label?: string;
}

export interface RuleWords {
  rule: string;
  section?: string;
  title?: string;
  text: string;
  kind: string;
  speedup?: number;
  speedup_text?: string;
  local?: boolean;
}

export interface Cause {
  text: string;
  plain?: string;
  next?: string;
  code: string;
  evidence?: CauseEvidence[] | null;
  remedy?: string;
  need?: string[] | null;
}

export interface MessageSize {
  bytes: number;
  matched: number;
  transfer_ns: number;
  transfer_ns_text: string;
  bus_bandwidth?: number;
}

export interface StripColumn {
  first: number;
  last: number;
  group: string;
  start_ns: number;
  start_ns_text: string;
  end_ns: number;
  end_ns_text: string;
}

export interface StripOutlier {
  layer: number;
  column: number;
  ns: number;
  ns_text: string;
  median_ns: number;
  median_ns_text: string;
}

export interface Stats {
  seconds: number;
  seconds_text: string;
  requests: number;
  errors: number;
  error_kinds?: number;
  error_sample?: string;
  ttft_ns: Summary;
  tpot_ns: Summary;
  itl_ns: Summary;
  e2e_ns: Summary;
  prompt_size: Summary;
  output_size: Summary;
  context?: number;
  tokens: number;
  tokens_per_s: number;
  tokens_per_s_text: string;
  requests_per_s: number;
  requests_per_s_text: string;
  good?: number;
  goodput_per_s?: number;
  goodput_per_s_text?: string;
}

export interface Summary {
  n: number;
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  max: number;
}

export interface StepPart {
  name: string;
  launches: number;
  gpu_ns: number;
  gpu_ns_text: string;
  share: number;
  share_text: string;
}

export interface LaneTop {
  n: number;
  ns: number;
  ns_text: string;
}

export interface Box {
  s: number;
  l: number;
  n: number;
  c?: number;
  b?: number;
}

export interface RegionCoverage {
  region: string;
  coverage: number;
  coverage_text: string;
  why?: string;
  why_short?: string;
}

export interface MemoryFlow {
  from: string;
  to: string;
  moved_bytes: number;
  moved_bytes_text: string;
  counter: string;
  both?: boolean;
}

export interface CauseEvidence {
  metric: string;
  value: number;
  value_text: string;
  unit?: string;
  relation?: string;
  threshold?: number;
}
