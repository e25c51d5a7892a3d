// What prompts on their way between servers go by.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  secret: {
    kind: "text",
    default: null,
    about:
      "What servers share that compute prompts for one another, at least 16 characters; without it `kv_transfer_params` is refused.",
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
  holdSeconds: {
    kind: "number",
    default: 60,
    min: 1,
    max: 86_400,
    about: "How long a computed prompt is held for the server that is to fetch it.",
  },
  fetchSeconds: {
    kind: "number",
    default: 30,
    min: 0.1,
    max: 3600,
    about: "How long fetching a prompt may take.",
  },
  onFailure: {
    kind: "choice",
    default: "recompute",
    choices: ["recompute", "fail"],
    about:
      "What becomes of a request whose prompt cannot be fetched: it is computed here, or refused as 503.",
  },
} as const satisfies SettingsSchema;

export const transferSettings = section(schema);

export type TransferSettings = SettingsIn<typeof transferSettings>;
