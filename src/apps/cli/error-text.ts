// How a command says that it failed: with commands and flags where the server speaks of routes and headers.
import { HoneError } from "../client/hone-error.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../base/domain/service-error.ts";

/** Returns one line for an error of operation, and the stack for any other. */
export function errorText(cause: unknown): string {
  const error = fullDiskError(cause) ?? cause;
  if (error instanceof HoneError) return `hone: ${inCommands(error)}\n`;
  if (error instanceof ServiceError) return `hone: ${error.message}\n`;
  return `hone: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`;
}

const keyCure =
  "Set HONE_API_KEY, pass --key, or run the command next to the server's data folder .hone, which holds the admin key (--data names another).";

/** The server's words about HTTP, each with its counterpart for a command line. */
const spoken: readonly (readonly [RegExp, string])[] = [
  [/GET \/v1\/models lists the models you can use\./g, "`hone models list` lists the models you can use."],
  [/GET \/v1\/preview\/retention says what there is/g, "`hone retention` shows your usage"],
  [/ ?Send Authorization: .* with a key of this server\.$/, ` ${keyCure}`],
  [/; GET \/openapi\.json lists those that exist\.$/, "; the server may be older than this command."],
];

/** The message of a server's error, or that no server answered, for somebody at a command line. */
export function inCommands({ message, status }: Pick<HoneError, "message" | "status">): string {
  const own = spoken.reduce((text, [pattern, words]) => text.replace(pattern, words), message);
  return status === 0 ? own : own.replace(new RegExp(`^${status}: `), "");
}
