// Formats a command's error. Replaces HTTP routes and headers in the server's message by the commands and flags that
// correspond to them.
import { HoneError } from "../client/hone-error.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../base/domain/service-error.ts";

/** Returns one line for an operating error, and the stack for any other error. */
export function errorText(cause: unknown): string {
  const error = fullDiskError(cause) ?? cause;
  if (error instanceof HoneError) return `hone: ${toCommandLineTerms(error)}\n`;
  if (error instanceof ServiceError) return `hone: ${error.message}\n`;
  // A system error, such as a missing file: its message names the path.
  if (error instanceof Error && "syscall" in error) return `hone: ${error.message}\n`;
  return `hone: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`;
}

const keyCure =
  "Set HONE_API_KEY, pass --key, or run the command in the folder that contains the server's data folder .hone, where the admin key is stored (--data names another).";

/** Patterns in the server's messages that refer to HTTP, with their replacements for the command line. */
const spoken: readonly (readonly [RegExp, string])[] = [
  [/GET \/v1\/models lists the models you can use\./g, "`hone models list` lists the models you can use."],
  [/GET \/v1\/preview\/retention says what there is/g, "`hone retention` shows your usage"],
  [/ ?Send Authorization: .* with a key of this server\.$/, ` ${keyCure}`],
  [/; GET \/openapi\.json lists those that exist\.$/, "; the server may be older than this command."],
  [/\([^()]*wrong version number[^]*?\)/, "(the server does not use TLS; write http:// instead of https://)"],
  [
    /Is the server running there\? HONE_BASE_URL sets another address\.$/,
    "Start the server with `hone serve`, or name another address with --url or HONE_URL.",
  ],
  [/^file\.(line \d+)\./, "$1 of the file, "],
  [/^file\.(line \d+)(?=:)/, "$1 of the file"],
  [/Value error, /g, ""],
  // A message often names its field itself.
  [/^(\w+): (?=\1 is )/, ""],
];

/** Rewrites a server's or client's error message for the command line, and removes the HTTP status in front of it. */
export function toCommandLineTerms({ message, status }: Pick<HoneError, "message" | "status">): string {
  const own = status === 0 ? message : message.replace(new RegExp(`^${status}: `), "");
  return spoken.reduce((text, [pattern, words]) => text.replace(pattern, words), own);
}
