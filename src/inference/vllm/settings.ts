// Settings of the connections to vLLM servers, and their timeouts.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";
import type { CopyFolder } from "./adapters/adapter-folders.ts";
import type { VllmTimeouts } from "./client/vllm-server.ts";

const schema = {
  apiKey: {
    kind: "text",
    default: null,
    about: "API key of the vLLM servers (their `--api-key`).",
    isSecret: true,
  },
  sequencesMax: {
    kind: "integer",
    default: 256,
    min: 1,
    max: 1_000_000,
    about:
      "Maximum number of concurrent answers per vLLM server, where each choice of a request counts as an answer. Set it to the vLLM server's `--max-num-seqs`. Further requests wait in Hone's queue, where entities take turns.",
  },
  adaptersMax: {
    kind: "integer",
    default: 32,
    min: 1,
    max: 10_000,
    about:
      "Maximum number of adapters that are loaded in each vLLM server; the least recently used adapters are unloaded first. vLLM reads adapters beyond its `--max-cpu-loras` from disk on each use.",
  },
  adapterFolder: {
    kind: "text",
    default: null,
    about:
      "Folder that vLLM servers can read, into which Hone copies adapters for them. If the folder has another path on their machines, give both paths as `folder=path`, Hone's first. Default: no copies; the vLLM servers read Hone's own adapter folder, at the same path.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Scheduling policy with which the vLLM servers were started. Hone takes it from its setting `engine.scheduling`. */
  scheduling: "fcfs" as "fcfs" | "priority",
  /**
   * Maximum time that Hone's start waits for the first vLLM server to respond. After that, Hone starts without one and
   * continues to probe.
   */
  startSeconds: 60,
  /** Interval between health probes of each vLLM server. */
  lookSeconds: 5,
  /** Timeout for connecting to a vLLM server. */
  connectSeconds: 5,
  /** Timeout for a vLLM server's response to quick calls, such as health probes, which generate no tokens. */
  answerSeconds: 30,
  /** Timeout for loading an adapter into a vLLM server. */
  adapterSeconds: 120,
  /**
   * Maximum time that a request waits in Hone's queue until a vLLM server has room for it. It equals the default
   * timeout of OpenAI's client libraries.
   */
  turnSeconds: 600,
  /** Timeout for a request's first token. It includes waiting in the vLLM server's queue and computing the prompt. */
  firstTokenSeconds: 600,
  /** Maximum time between two consecutive tokens of a response from a vLLM server. */
  nextTokenSeconds: 120,
};

export const remoteSettings = section(schema, fixed);

export type RemoteSettings = SettingsIn<typeof remoteSettings>;

/** Converts the settings to timeouts in milliseconds. */
export function timeoutsOf(settings: RemoteSettings): VllmTimeouts {
  return {
    connectMs: settings.connectSeconds * 1000,
    answerMs: settings.answerSeconds * 1000,
    firstTokenMs: settings.firstTokenSeconds * 1000,
    nextTokenMs: settings.nextTokenSeconds * 1000,
    adapterMs: settings.adapterSeconds * 1000,
  };
}

/** Returns the folder into which adapters are copied for vLLM servers; null if they can access this server's files. */
export function copyFolderOf({ adapterFolder }: RemoteSettings): CopyFolder | null {
  if (adapterFolder === null) return null;
  const split = adapterFolder.indexOf("=");
  if (split < 0) return { folder: adapterFolder, folderAtServer: adapterFolder };
  return { folder: adapterFolder.slice(0, split), folderAtServer: adapterFolder.slice(split + 1) };
}
