// Address and kind of a remote trainer. Operators configure it in one line:
// `tinker+http://trainer:8000?kind=skyrl-jax&base=Qwen/Qwen3-8B`.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { type ServerKindName, serverKindNames, serverKinds } from "./server-kinds.ts";

export interface TrainerAddress {
  /** URL of the server, including its path but without `/api/v1`. */
  readonly url: string;
  readonly kind: ServerKindName;
  /**
   * Names of base models on the server, keyed by their names in Hone; the key `*` applies to all other models. A base
   * model without an entry has the same name on the server.
   */
  readonly bases: Readonly<Record<string, string>>;
  /** Shared folder to which the server writes adapters; null if the server sends them in archives. */
  readonly adapters: string | null;
}

/** A remote trainer, and the API key for it. */
export interface TrainerElsewhere {
  readonly address: TrainerAddress;
  /** API key that is sent with each request and never logged. Servers that require no key accept any. */
  readonly apiKey: string;
}

const example = "tinker+http://trainer:8000?kind=skyrl-jax";

/**
 * Parses the address of a remote trainer.
 *
 * @param text value of the setting
 * @throws ServiceError `invalid` with the fault and an example
 */
export function readTrainerAddress(text: string): TrainerAddress {
  const url = urlOf(text);
  const parameters = new Map(url.searchParams);
  const kind = take(parameters, "kind");
  if (kind === null || !isKind(kind))
    throw invalid(
      kind === null ? "it names no kind of server" : `the kind of server ${JSON.stringify(kind)} is unknown`,
      `one of ${serverKindNames.join(", ")}, as in ${example}`,
    );
  const adapters = take(parameters, "adapters");
  if (adapters === null && serverKinds[kind].adapters === "folder")
    throw invalid(
      `servers of the kind ${kind} leave adapters in a folder`,
      `name it as adapters=/a/folder/that/both/see`,
    );
  if (adapters !== null && serverKinds[kind].adapters === "archive")
    throw invalid(`servers of the kind ${kind} send adapters`, "leave adapters out");
  const bases = Object.fromEntries(
    [...parameters].map(([name, value]) => {
      const [, here = "*"] = /^base(?:\.(.+))?$/.exec(name) ?? [null, null];
      if (here === null || value === "")
        throw invalid(
          `it contains ${JSON.stringify(`${name}=${value}`)}`,
          "its parameters are kind, base, base.<name here> and adapters",
        );
      return [here, value];
    }),
  );
  url.search = "";
  return { url: url.href.replace(/\/$/, ""), kind, bases, adapters };
}

/** Returns the name that a base model has on the server, given its name in Hone. */
export function remoteBaseName({ bases }: TrainerAddress, name: string): string {
  return bases[name] ?? bases["*"] ?? name;
}

function urlOf(text: string): URL {
  const [, address] = /^tinker\+(https?:\/\/.+)$/.exec(text) ?? [];
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : null;
  if (url === null)
    throw invalid(
      `${JSON.stringify(text.replace(/\/\/[^/]*@/, "//…@"))} is not a trainer address`,
      `write it as ${example}`,
    );
  if (url.username !== "" || url.password !== "")
    throw invalid(
      "it contains a user or a password",
      "give the key in HONE_TRAINER_KEY, directly or as file:<path>",
    );
  if (url.hash !== "") throw invalid("it has a fragment (#)", "leave it out");
  return url;
}

function take(parameters: Map<string, string>, name: string): string | null {
  const value = parameters.get(name);
  parameters.delete(name);
  return value === undefined || value === "" ? null : value;
}

function isKind(text: string): text is ServerKindName {
  return (serverKindNames as readonly string[]).includes(text);
}

function invalid(fault: string, cure: string): ServiceError {
  return new ServiceError({ code: "invalid", message: `HONE_TRAINER cannot be used: ${fault}; ${cure}.` });
}
