// Settings of the exchange of prompts between servers.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  secret: {
    kind: "text",
    default: null,
    about:
      "Shared secret of servers that exchange prompts, at least 16 characters; without it, `kv_transfer_params` is refused.",
    isSecret: true,
  },
  peers: {
    kind: "list",
    default: [],
    about:
      "Servers that prompts may be fetched from, each as `http://host:port` or `https://host:port`; requests cannot name others.",
  },
  address: {
    kind: "text",
    default: null,
    about: "Address at which other servers reach this one, as `host:port`. Default: the listening address.",
  },
  onFailure: {
    kind: "choice",
    default: "recompute",
    choices: ["recompute", "fail"],
    about: "If a prompt cannot be fetched: compute it here, or refuse the request with 503.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Time for which a computed prompt is held until the other server fetches it. */
  holdSeconds: 60,
  /** Timeout for fetching a prompt; beyond it, computing the prompt is usually faster. */
  fetchSeconds: 30,
};

export const transferSettings = section(schema, fixed);

export type TransferSettings = SettingsIn<typeof transferSettings>;
