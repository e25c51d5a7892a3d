// Settings of the exchange of prompts between servers.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  secret: {
    kind: "text",
    default: null,
    about:
      "What servers share that compute prompts for one another, at least 16 characters; without it `kv_transfer_params` is refused.",
    isSecret: true,
  },
  peers: {
    kind: "list",
    default: [],
    about:
      "Servers whose prompts may be fetched, each as `http://host:port` or `https://host:port`; nothing else is ever asked, whatever a request says.",
  },
  address: {
    kind: "text",
    default: null,
    about: "Where other servers reach this one, as `host:port`. Default: where it listens.",
  },
  onFailure: {
    kind: "choice",
    default: "recompute",
    choices: ["recompute", "fail"],
    about:
      "What becomes of a request whose prompt cannot be fetched: it is computed here, or refused as 503.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** How long a computed prompt is held for the server that is to fetch it. */
  holdSeconds: 60,
  /** Timeout for fetching a prompt; beyond it, computing the prompt is usually faster. */
  fetchSeconds: 30,
};

export const transferSettings = section(schema, fixed);

export type TransferSettings = SettingsIn<typeof transferSettings>;
