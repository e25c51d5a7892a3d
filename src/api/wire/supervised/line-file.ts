// Reads files with one JSON value per line. The same size limits apply as for the body of a request, and each fault
// names its line.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isAtFaultLimit, report, type Findings } from "../../../base/validation/findings.ts";
import { parseJsonBody, type JsonLimits } from "../../../base/validation/json-body.ts";
import type { BodyLimits } from "../body-limits.ts";

export interface LineReader {
  /** Receives the faults of the file. */
  readonly findings: Findings;
  /**
   * Nouns for the content of one line and of several lines, such as `conversation` and `conversations`, for error
   * messages.
   */
  readonly holds: { readonly one: string; readonly many: string };
  /**
   * Reads the value of a line.
   *
   * @param place path of the line, such as `line 3`
   */
  readonly read: (value: unknown, place: string) => void;
}

/** Calls `read` with the value of each line, and adds the faults of the file to the findings. */
export function readLineFile(
  bytes: Buffer,
  { trajectoryGroups: countMax, trajectoryJson }: Pick<BodyLimits, "trajectoryGroups" | "trajectoryJson">,
  { findings, holds, read }: LineReader,
): void {
  let number = 0;
  for (const line of linesOf(bytes)) {
    number += 1;
    if (number > countMax) {
      const message = `The file has more than ${countMax} lines; at most so many ${holds.many} are allowed at a time. Send them in several jobs.`;
      report(findings, "too_long", message);
      break;
    }
    const place = `line ${number}`;
    const value = parsed(line, trajectoryJson, (type, message) => report(findings, type, message, place));
    if (value !== undefined) read(value, place);
    if (isAtFaultLimit(findings)) break;
  }
  if (number === 0) report(findings, "too_short", `The file holds no ${holds.one}.`);
}

/** Returns the value of the file's first line; undefined if the file is empty or the line is not JSON. */
export function firstLineOf(bytes: Buffer, { trajectoryJson }: Pick<BodyLimits, "trajectoryJson">): unknown {
  const { value } = linesOf(bytes).next();
  return value === undefined ? undefined : parsed(value, trajectoryJson, () => undefined);
}

/** Parses a line as JSON. If it is empty or not JSON, adds a fault and returns undefined. */
function parsed(
  line: Buffer,
  limits: JsonLimits,
  addFault: (type: string, message: string) => void,
): unknown {
  try {
    const value = parseJsonBody(line, limits);
    if (value === undefined) addFault("missing", "The line is empty.");
    return value;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    for (const { type, message } of error.faults) addFault(type, message);
    return undefined;
  }
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];
const byteOrderMark = Buffer.from("\uFEFF");

/** Yields the lines of a file without their line ends. Blank lines at the end are skipped. */
function* linesOf(bytes: Buffer): Generator<Buffer> {
  let start = bytes.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
  let end = bytes.length;
  while (end > start && [lineFeed, carriageReturn, 0x20].includes(bytes[end - 1])) end -= 1;
  while (start < end) {
    const feed = bytes.indexOf(lineFeed, start);
    const next = feed < 0 || feed > end ? end : feed;
    const isReturned = next > start && bytes[next - 1] === carriageReturn;
    yield bytes.subarray(start, isReturned ? next - 1 : next);
    start = next + 1;
  }
}
