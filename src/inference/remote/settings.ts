// What vLLM servers are asked by, and how long they may take.
import { readFileSync, statSync } from "node:fs";
import { requirePlainFile } from "../../base/domain/obstacles/plain-file.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";
import type { CopiesPlace } from "./adapters/adapter-place.ts";
import type { VllmWaits } from "./vllm/vllm-server.ts";

const seconds = (value: number, about: string) =>
  ({ kind: "number", default: value, min: 0.1, max: 86_400, about }) as const;

const schema = {
  apiKey: {
    kind: "text",
    default: null,
    about: "The key that vLLM servers ask for (their `--api-key`).",
  },
  apiKeyFile: {
    kind: "text",
    default: null,
    about: "A file with that key, in place of it.",
  },
  scheduling: {
    kind: "choice",
    default: "fcfs",
    choices: ["fcfs", "priority"],
    about:
      "As the vLLM servers were started (`--scheduling-policy`): with `priority` requests may have one, which vLLM else ignores.",
  },
  sequencesMax: {
    kind: "integer",
    default: 256,
    min: 1,
    max: 1_000_000,
    about:
      "Answers that each vLLM server is asked for at once, each choice of a request being one: its `--max-num-seqs`. Requests beyond wait here, and entities take turns.",
  },
  adaptersMax: {
    kind: "integer",
    default: 32,
    min: 1,
    max: 10_000,
    about:
      "Adapters that each vLLM server has loaded; those that were not used for longest are unloaded for others. More than its `--max-cpu-loras` are read from the disk again when they are used.",
  },
  adapterFolder: {
    kind: "text",
    default: null,
    about:
      "A folder that vLLM servers see too, where adapters are copied for them. Default: they see the folder where adapters are, under the same path.",
  },
  adapterFolderThere: {
    kind: "text",
    default: null,
    about: "The path of that folder on the machines of the vLLM servers. Default: the same.",
  },
  startSeconds: seconds(
    60,
    "How long a start waits for the first vLLM server that answers; the server then starts without, and goes on asking.",
  ),
  lookSeconds: seconds(5, "How often each vLLM server is asked whether it is well."),
  connectSeconds: seconds(5, "How long connecting to a vLLM server may take."),
  answerSeconds: seconds(30, "How long a vLLM server may take to answer what computes nothing."),
  adapterSeconds: seconds(120, "How long a vLLM server may take to load an adapter."),
  turnSeconds: seconds(600, "How long a request may wait here until a vLLM server has room for it."),
  firstTokenSeconds: seconds(
    600,
    "How long a request may wait at a vLLM server for its first token, its turn there and its prompt included.",
  ),
  nextTokenSeconds: seconds(120, "How long a vLLM server may take from one token to the next."),
} as const satisfies SettingsSchema;

export const remoteSettings = section(schema);

export type RemoteSettings = SettingsIn<typeof remoteSettings>;

/** How long servers may take by the settings, in milliseconds. */
export function waitsOf(settings: RemoteSettings): VllmWaits {
  return {
    connectMs: settings.connectSeconds * 1000,
    answerMs: settings.answerSeconds * 1000,
    firstTokenMs: settings.firstTokenSeconds * 1000,
    nextTokenMs: settings.nextTokenSeconds * 1000,
    adapterMs: settings.adapterSeconds * 1000,
  };
}

/** Where adapters are copied for servers; null where these see them. */
export function copiesOf({ adapterFolder, adapterFolderThere }: RemoteSettings): CopiesPlace | null {
  if (adapterFolder === null) return null;
  return { folder: adapterFolder, folderThere: adapterFolderThere ?? adapterFolder };
}

/** @throws ServiceError `invalid` for a file that cannot be read; its name alone is told */
export function readKey({ apiKey, apiKeyFile }: RemoteSettings): string | null {
  if (apiKeyFile === null) return apiKey;
  try {
    requirePlainFile(apiKeyFile, statSync(apiKeyFile));
    return readFileSync(apiKeyFile, "utf8").trim();
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    const message = `HONE_REMOTE_API_KEY_FILE is ${JSON.stringify(apiKeyFile)}, which cannot be read.`;
    throw new ServiceError({ code: "invalid", message, cause });
  }
}
