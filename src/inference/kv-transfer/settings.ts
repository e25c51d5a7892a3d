// Settings for exchanging prompts between servers.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  secret: {
    kind: "text",
    default: null,
    about:
      "Shared secret of servers that exchange the KV caches of prompts, at least 16 characters. Without it, `kv_transfer_params` is refused.",
    isSecret: true,
  },
  peers: {
    kind: "list",
    default: [],
    about:
      "Servers from which this server may fetch KV caches of prompts, each as `http://host:port` or `https://host:port`. Hone refuses requests that name another server.",
  },
  address: {
    kind: "text",
    default: null,
    about:
      "Address at which other servers can reach this server, as `host:port`. Default: the listening address.",
  },
  onFailure: {
    kind: "choice",
    default: "recompute",
    choices: ["recompute", "fail"],
    about:
      "Handling of a prompt whose KV cache cannot be fetched: `recompute` computes it on this server, `fail` refuses the request with 503.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Number of seconds that a computed prompt is held for another server to fetch. */
  holdSeconds: 60,
  /** Time limit in seconds for fetching a prompt. Computing the prompt on this server usually takes less time. */
  fetchSeconds: 30,
};

export const transferSettings = section(schema, fixed);

export type TransferSettings = SettingsIn<typeof transferSettings>;
