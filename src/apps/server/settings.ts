// All sections of the configuration. The section `server` is defined here; other sections are defined in the folder of
// their subject.
import { availableParallelism, totalmem } from "node:os";
import {
  type Machine,
  section,
  type Section,
  type SettingsIn,
  type SettingsOf,
  type SettingsSchema,
} from "../../base/domain/settings.ts";
import { chatSettings } from "../../inference/chat/settings.ts";
import { constraintSettings } from "../../inference/engine/token-masks/settings.ts";
import { engineSettings } from "../../inference/engine/settings.ts";
import { feedbackSettings } from "../../judge/feedback/settings.ts";
import { annotationSettings } from "../../judge/annotation/settings.ts";
import { fileSettings } from "../../train/uploads/settings.ts";
import { traceSettings } from "../../judge/weave/settings.ts";
import { costSettings } from "../../api/http/costs/settings.ts";
import { httpSettings } from "../../api/http/settings.ts";
import { jobSettings } from "../../train/jobs/settings.ts";
import { recordingSettings } from "../../inference/chat/recordings/settings.ts";
import { keySettings } from "../../access/keys/settings.ts";
import { modelSettings } from "../../inference/models/registry/settings.ts";
import { remoteSettings } from "../../inference/vllm/settings.ts";
import { retentionSettings } from "../../store/retention/settings.ts";
import { fineTuningSettings } from "../../train/fine-tuning/settings.ts";
import { rewardSettings } from "../../train/rewards/settings.ts";
import { learningSettings } from "../../train/learning/settings.ts";
import { rolloutSettings } from "../../train/rollouts/settings.ts";
import { sessionSettings } from "../../train/sessions/settings.ts";
import { trainingSettings } from "../../train/trainer/settings.ts";
import { transferSettings } from "../../inference/kv-transfer/settings.ts";
import { userSettings } from "../../access/users/settings.ts";
import { webhookSettings } from "../../api/webhooks/settings.ts";

const serverSettings = {
  host: { kind: "text", default: "127.0.0.1", about: "Address to listen on.", isEssential: true },
  port: {
    kind: "integer",
    default: 8000,
    min: 0,
    max: 65535,
    about: "Port to listen on; 0 chooses a free port.",
    isEssential: true,
  },
  data: {
    kind: "text",
    default: ".hone",
    about: "Data folder, in which the server stores everything.",
    isEssential: true,
  },
  blobs: {
    kind: "text",
    default: null,
    about:
      "Storage for adapters and files, shared by servers on one PostgreSQL: a folder, or a bucket of an S3-compatible store (`s3://bucket/prefix`). The `AWS_*` variables set the endpoint and the credentials. `?path-style=on` puts the bucket's name into the path of requests, which is the default with `AWS_ENDPOINT_URL`; `?path-style=off` puts it into the host name. Default: the data folder, which only one server can use.",
  },
  databaseUrl: {
    kind: "text",
    default: null,
    about:
      "Database: `postgres://user:password@host/database`, or `file:<path>` for SQLite. Default: hone.db in the data folder.",
    isEssential: true,
  },
  databaseConnections: {
    kind: "integer",
    default: 10,
    min: 2,
    max: 1000,
    about:
      "Maximum number of PostgreSQL connections of this server. Feedback queries use up to five more connections.",
  },
  roles: {
    kind: "list",
    default: ["serve", "train"],
    about:
      "Roles of this server: `serve` answers requests, `train` runs training jobs; comma-separated. A server with only one role needs another server with the other role on the same PostgreSQL database.",
  },
  trainer: {
    kind: "text",
    default: null,
    about:
      "Tinker API server that trains instead of this machine: `tinker+http://host:8000?kind=skyrl-jax`. Add `base=<name>` if the base model has another name on that server.",
  },
  trainerKey: {
    kind: "text",
    default: null,
    about: "API key for the trainer.",
    isSecret: true,
  },
  model: {
    kind: "list",
    default: [],
    about:
      "Models to serve in addition to the built-in one, separated by commas; the flag can be repeated. A model is a folder or a GGUF file (optionally `name=path`), the name of an added model (`hone models add`), or a model that vLLM servers compute (`name=vllm+http://host:8000?files=folder`). In `files`, give a local folder with that model's configuration, tokenizer and chat template. If several vLLM servers compute a model, separate their URLs by commas: `name=vllm+http://host:8000,http://host2:8000?files=folder`. Default: all added models.",
    isEssential: true,
  },
  quantize: {
    kind: "choice",
    default: "as-stored",
    choices: ["as-stored", "8", "4", "off"],
    about:
      "Precision of the weights of all models except the built-in one, which is always float32. With `as-stored`, quantized weights stay quantized, and 16-bit floats are computed in float32. `8` and `4` quantize the weights to 8 or 4 bits. `off` converts all weights, including quantized ones, to float32.",
  },
  device: {
    kind: "choice",
    default: "cpu",
    choices: ["cpu", "webgpu"],
    about:
      "Device that computes models with float32 weights: the CPU, or a GPU through WebGPU (experimental). If the GPU is missing or computes wrong numbers, Hone uses the CPU and logs the reason.",
  },
  builtInModel: {
    kind: "choice",
    default: "on",
    choices: ["on", "off"],
    about:
      "Use of the built-in model. With `off`, the server does not load it, which saves its memory and processes.",
  },
  defaultModel: {
    kind: "text",
    default: null,
    about:
      "Base model for requests that name no model. Default: the first model of `server.model`, otherwise the built-in model, otherwise the first added model.",
  },
  modelAliases: {
    kind: "list",
    default: [],
    about:
      "Names that stand for models, as `alias=model`, separated by commas; the flag can be repeated. A program that names a model of another maker then works unchanged: `gpt-4.1-nano-2025-04-14=hone-tiny`, or `gpt-*=hone-tiny` for all names that begin with `gpt-` and have no colon. If a model has exactly the requested name, that model takes precedence. `GET /v1/models` does not list aliases.",
  },
  auth: {
    kind: "choice",
    default: "on",
    choices: ["on", "off"],
    about:
      "Authentication with API keys. `off` gives everyone admin access, and is allowed only on a loopback address.",
    isEssential: true,
  },
  apiKey: {
    kind: "text",
    default: null,
    about: "First API key of the server, which is an admin key. Default: the first start creates one.",
    isEssential: true,
    isSecret: true,
  },
  entity: {
    kind: "text",
    default: "local",
    about:
      "Entity (tenant) that owns the API key of the first start, and models that are registered without an entity.",
  },
  logLevel: {
    kind: "choice",
    default: "info",
    choices: ["debug", "info", "warn", "error", "silent"],
    about: "Minimum level of the lines in the log; less severe lines are omitted.",
    isEssential: true,
  },
  logFormat: {
    kind: "choice",
    default: "auto",
    choices: ["auto", "people", "json"],
    about:
      "Format of the log: `people` is readable text, `json` is one JSON object per line, `auto` is `people` on a terminal and otherwise `json`.",
  },
  drainSeconds: {
    kind: "number",
    default: 30,
    min: 0,
    max: 3600,
    about: "Time in seconds that running requests have to finish after SIGTERM.",
  },
} as const satisfies SettingsSchema;

const serverConstants = {
  /** True to run warm-up chats before the server reports that it is ready. */
  firstChats: true,
};

type AnySection = Section<SettingsSchema, object>;

export const sections = {
  server: section(serverSettings, serverConstants),
  chat: chatSettings,
  engine: engineSettings,
  constraints: constraintSettings,
  models: modelSettings,
  training: trainingSettings,
  sessions: sessionSettings,
  jobs: jobSettings,
  feedback: feedbackSettings,
  rewards: rewardSettings,
  rollouts: rolloutSettings,
  fineTuning: fineTuningSettings,
  learning: learningSettings,
  files: fileSettings,
  recordings: recordingSettings,
  retention: retentionSettings,
  annotation: annotationSettings,
  traces: traceSettings,
  http: httpSettings,
  users: userSettings,
  transfer: transferSettings,
  remote: remoteSettings,
  webhooks: webhookSettings,
  keys: keySettings,
  costs: costSettings,
} as const satisfies Readonly<Record<string, AnySection>>;

export type SectionName = keyof typeof sections;

/** Settings that operators can set. */
export type OperatorSettings = {
  readonly [Name in SectionName]: SettingsOf<(typeof sections)[Name]["schema"]>;
};

/** All settings of the server, including constants that operators cannot set. */
export type WholeSettings = { readonly [Name in SectionName]: SettingsIn<(typeof sections)[Name]> };

/** Overrides of settings, for embedders and tests. */
export type SettingsOverrides = {
  readonly [Name in SectionName]?: Partial<WholeSettings[Name]>;
};

/** Resources of this machine that the process may use. */
export function thisMachine(): Machine {
  // Without a memory limit of a control group, this value is 0 or exceeds the machine's memory.
  const constrained = process.constrainedMemory();
  const memoryBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return { coreCount: availableParallelism(), memoryBytes };
}

/** Combines an operator's settings with the constants of each section. */
export function wholeSettings(set: OperatorSettings, overrides: SettingsOverrides = {}): WholeSettings {
  const http = httpSettings.with({ ...set.http, ...overrides.http });
  const memoryShare = Math.floor(thisMachine().memoryBytes / 8);
  const { threads, scheduling } = engineSettings.with({ ...set.engine, ...overrides.engine });
  const { entityBytes } = fileSettings.with({ ...set.files, ...overrides.files });
  // Settings derived from others: uploaded files may be as large as request bodies, and engines share settings with
  // training.
  const derived: SettingsOverrides = {
    files: { fileBytes: http.trajectoryBodyBytes },
    // At least twice the maximum size of a body, because each entity may use only half of these bytes.
    http: { bodyBytesInFlight: Math.max(2 * http.bodyBytes, Math.min(http.bodyBytesInFlight, memoryShare)) },
    training: { threads },
    remote: { scheduling },
    traces: { entityBytes },
  };
  // Typed as records, because the union of all sections exceeds the compiler's limits.
  const given: readonly Readonly<Record<string, object | undefined>>[] = [set, derived, overrides];
  const settings = Object.entries<AnySection>(sections).map(([name, part]) => [
    name,
    part.with(Object.assign({}, ...given.map((each) => each[name]))),
  ]);
  // Safe cast: each entry was built from the section of that name.
  return Object.fromEntries(settings) as WholeSettings;
}

/** A setting by section and name, as in `hone.json`. */
type SettingKey = {
  [Name in SectionName]: `${Name}.${keyof OperatorSettings[Name] & string}`;
}[SectionName];

/** All settings in groups, in the order of the documentation and the help. */
export const settingGroups: { readonly [Title: string]: readonly SettingKey[] } = {
  "Addresses and storage": [
    "server.host",
    "server.port",
    "server.data",
    "server.blobs",
    "server.databaseUrl",
    "server.databaseConnections",
    "server.roles",
  ],
  Access: [
    "server.auth",
    "server.apiKey",
    "server.entity",
    "http.corsOrigins",
    "http.operatorRoutes",
    "keys.entityLimits",
  ],
  Costs: ["costs.prices", "costs.currency"],
  "Single sign-on": [
    "users.header",
    "users.groupsHeader",
    "users.proxies",
    "users.issuer",
    "users.audience",
    "users.tokenHeader",
    "users.nameClaim",
    "users.groupsClaim",
    "users.groups",
  ],
  "Models and answers": [
    "server.model",
    "server.builtInModel",
    "server.defaultModel",
    "server.modelAliases",
    "server.quantize",
    "server.device",
    "chat.toolCalls",
    "chat.toolFormats",
    "chat.reasoning",
    "constraints.strictFormats",
    "engine.logitsProcessors",
    "engine.scheduling",
  ],
  "Memory and cores": [
    "engine.threads",
    "engine.contextLengthMax",
    "engine.kvCacheBytesMax",
    "engine.prefixCachePercent",
    "models.memoryBytes",
    "models.keepAliveSeconds",
    "training.memoryBytes",
  ],
  Requests: ["http.bodyBytes", "engine.waitingCountMax", "server.drainSeconds"],
  "Prompt transfer between servers": [
    "transfer.secret",
    "transfer.peers",
    "transfer.address",
    "transfer.onFailure",
  ],
  "vLLM servers": ["remote.apiKey", "remote.sequencesMax", "remote.adaptersMax", "remote.adapterFolder"],
  Training: [
    "jobs.concurrency",
    "sessions.modelsMax",
    "rollouts.openPerEntity",
    "rollouts.callsMax",
    "rollouts.tokensMax",
    "rollouts.keptDays",
    "server.trainer",
    "server.trainerKey",
    "training.loraRank",
    "training.batchTokens",
    "training.sequenceLengthMax",
  ],
  Webhooks: ["webhooks.allowed"],
  "Storage limits and logs": [
    "models.checkpointsKept",
    "recordings.record",
    "retention.recordings",
    "retention.trajectories",
    "retention.jobs",
    "retention.revisions",
    "retention.entityBytes",
    "retention.auditDays",
    "files.unusedDays",
    "files.entityBytes",
    "server.logLevel",
    "server.logFormat",
  ],
};
