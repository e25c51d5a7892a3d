// Formats the log as readable lines for a terminal: each begins with the time of day, and unusual parts are coloured.
import { requestMessage, formatRequest, type RequestLine } from "./request-line.ts";

interface LogEntry {
  /** Level as a number of the logging library: 30 for information, 40 for a warning, 50 for an error. */
  readonly level: number;
  readonly time: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** An error, as the logging library writes it. A thrown value that is no error is logged as it is. */
interface LoggedError {
  /** Name of the error's class. */
  readonly type?: string;
  /** Kind of an expected failure; `internal` for a fault of the program. */
  readonly code?: string;
  readonly stack?: string;
}

/**
 * Formats a line of the log as a readable line, which ends in a line break.
 *
 * @param json line as a JSON object
 */
export function formatForPeople(json: string, { isColoured }: { readonly isColoured: boolean }): string {
  const entry = JSON.parse(json) as LogEntry;
  const { level, time, msg, err, ...fields } = entry;
  const paint = (text: string, colour: Colour): string =>
    isColoured ? painted(plain(text), colour) : plain(text);
  const parts = [paint(timeOfDay(new Date(time)), "dim")];
  if (msg === requestMessage) {
    const line = fields as unknown as RequestLine;
    parts.push(paint(formatRequest(line), colourOf(line.status)));
  } else {
    const [word, colour] = levelOf(level);
    if (word !== "") parts.push(paint(word, colour));
    parts.push(plain(msg));
    // Fields that are objects are left out. They are for programs, and the message already says what they mean.
    const shown = Object.entries(fields).filter(
      ([, value]) => value !== "" && (typeof value !== "object" || Array.isArray(value)),
    );
    if (shown.length > 0) parts.push(paint(shown.map(spelled).join(" "), "dim"));
  }
  return `${parts.join("  ")}\n${errorText(err as LoggedError | undefined)}`;
}

type Colour = "plain" | "dim" | "red" | "yellow";

const codes: { readonly [Name in Colour]: string } = { plain: "", dim: "2", red: "31", yellow: "33" };

function painted(text: string, colour: Colour): string {
  return colour === "plain" ? text : `\u001b[${codes[colour]}m${text}\u001b[0m`;
}

/** Replaces control characters and private-use characters, so that a text from a client cannot control the terminal. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Co}]/gu, "�");
}

function timeOfDay(time: Date): string {
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

function colourOf(status: number): Colour {
  if (status >= 500) return "red";
  return status >= 400 ? "yellow" : "plain";
}

function levelOf(level: number): readonly [word: string, colour: Colour] {
  if (level >= 50) return ["error", "red"];
  if (level >= 40) return ["warning", "yellow"];
  return level >= 30 ? ["", "plain"] : ["debug", "dim"];
}

function spelled([name, value]: readonly [string, unknown]): string {
  return `${name}=${typeof value === "string" && /^[^\s="]+$/.test(value) ? value : JSON.stringify(value)}`;
}

/**
 * Returns the stack of an error, which is printed below the line. The message by itself seldom shows where the error
 * was thrown. The message of an expected failure suffices, so that only the stack of its cause is printed.
 */
function errorText(error: LoggedError | undefined): string {
  if (error === undefined) return "";
  const stack = error.stack ?? JSON.stringify(error);
  const [own, ...causes] = stack.split(/\n(?=caused by: )/);
  const head =
    error.type === "ServiceError" && error.code !== "internal" ? own.replaceAll(/\n +at .*/g, "") : own;
  return [head, ...causes]
    .join("\n")
    .split("\n")
    .map((line) => `          ${plain(line)}\n`)
    .join("");
}
