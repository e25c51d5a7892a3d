// Findings of a check: faults with their locations, and unknown fields. A location begins with the origin of the value,
// such as `body`; the path in the value follows.
import { cut, ServiceError, type Fault } from "../domain/service-error.ts";

/**
 * Faults and unknown fields that a check has found so far. `path` is the location of the value that is being checked.
 */
export interface Findings {
  readonly path: string[];
  /** The first faults, up to a limit. Further faults are only counted. */
  readonly faults: Fault[];
  /** Number of all faults. */
  faultCount: number;
  /**
   * Unknown fields by pattern. The pattern has `*` for each index: `messages.2.nam` is found under `messages.*.nam`. If
   * several items of a list have the same unknown field, only the first is listed.
   */
  readonly ignored: Map<string, string>;
}

/** Maximum number of faults in an error. Further faults are only counted, so that the error stays readable. */
const faultCountMax = 100;
const moreFaults = "more_faults";
/** Number of faults after which the check of a value ends. */
const countedMax = 10_000;
/** Maximum number of unknown fields that are listed, because their names must fit into a header. */
const ignoredCountMax = 100;

export function newFindings(...path: readonly string[]): Findings {
  return { path: [...path], faults: [], faultCount: 0, ignored: new Map() };
}

/**
 * Adds a fault.
 *
 * @param below path from the current location to the fault
 */
export function report(findings: Findings, type: string, message: string, ...below: readonly string[]): void {
  findings.faultCount += 1;
  if (findings.faults.length < faultCountMax) {
    findings.faults.push({ location: [...findings.path, ...below], message, type });
  }
}

/**
 * Adds an unknown field.
 *
 * @param below path from the current location to the field
 */
export function ignore(findings: Findings, ...below: readonly string[]): void {
  const { ignored } = findings;
  if (ignored.size >= ignoredCountMax) return;
  const path = [...findings.path.slice(1), ...below];
  const pattern = path.map((part) => (/^\d+$/.test(part) ? "*" : part)).join(".");
  if (!ignored.has(pattern)) ignored.set(pattern, path.join("."));
}

/** True if there are so many faults that the check should end. */
export function isAtFaultLimit({ faultCount }: Findings): boolean {
  return faultCount >= countedMax;
}

/**
 * Throws if there are faults.
 *
 * @throws ServiceError `invalid` with the first faults, and the number of further ones
 */
export function refuseFaults(findings: Findings): void {
  if (findings.faultCount === 0) return;
  const faults = firstFaults(findings.faults, findings.faultCount);
  throw new ServiceError({ code: "invalid", message: summary(findings.faults, findings.faultCount), faults });
}

/**
 * Returns the first {@link faultCountMax} faults. If there are more, adds a fault that gives the number of the others.
 * Applied to its own result, it changes nothing.
 */
export function firstFaults(faults: readonly Fault[], count = faults.length): readonly Fault[] {
  if (faults.length === faultCountMax + 1 && faults.at(-1)?.type === moreFaults) return faults;
  const first = faults.slice(0, faultCountMax);
  const rest = count - first.length;
  if (rest === 0) return first;
  const message = `${restOf(count, first.length)} more faults are not listed.`;
  return [...first, { location: faults[0]?.location.slice(0, 1) ?? [], message, type: moreFaults }];
}

/** Returns a message that describes the first ten faults and says how many others there are. */
export function summary(faults: readonly Fault[], count = faults.length): string {
  const words = faults.slice(0, 10).map(({ location, message }) => {
    const name = location
      .slice(1)
      .map((part) => cut(part))
      .join(".");
    return name === "" ? message : `${name}: ${message}`;
  });
  return words.join("; ") + (count > words.length ? `; and ${restOf(count, words.length)} more` : "");
}

function restOf(count: number, shown: number): string {
  return `${count >= countedMax ? "at least " : ""}${count - shown}`;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Calls `visit` for each object in a list. Does nothing if the value is no list. */
export function eachObject(
  list: unknown,
  visit: (value: Readonly<Record<string, unknown>>, index: string) => void,
): void {
  if (!Array.isArray(list)) return;
  list.forEach((value: unknown, index) => {
    if (isObject(value)) visit(value, String(index));
  });
}
