// Findings of a check: faults with their places, and unknown fields. The first part of a place is the origin of the
// value, such as `body`; the rest is the path in it.
import { cut, ServiceError, type Fault } from "../domain/service-error.ts";

/** Faults and unknown fields, as they are found; `path` is the current position of the walk. */
export interface Findings {
  readonly path: string[];
  /** The first faults, up to a limit; the rest is only counted. */
  readonly faults: Fault[];
  /** Total number of faults. */
  faultCount: number;
  /**
   * Dotted names of unknown fields, by the same names with `*` for list indices: for the items of a list, only the
   * first occurrence of a field is listed.
   */
  readonly ignored: Map<string, string>;
}

/** Maximum listed faults; the rest is only counted, so that an answer stays readable. */
const faultCountMax = 100;
const moreFaults = "more_faults";
/** Number of faults at which the check of a value ends. */
const countedMax = 10_000;
/** Maximum names that fit in a header. */
const ignoredCountMax = 100;

export function newFindings(...path: readonly string[]): Findings {
  return { path: [...path], faults: [], faultCount: 0, ignored: new Map() };
}

/** Adds a fault at the current position, or below it. */
export function report(findings: Findings, type: string, message: string, ...below: readonly string[]): void {
  findings.faultCount += 1;
  if (findings.faults.length < faultCountMax) {
    findings.faults.push({ location: [...findings.path, ...below], message, type });
  }
}

/** Adds an unknown field at the current position, or below it. */
export function ignore(findings: Findings, ...below: readonly string[]): void {
  const { ignored } = findings;
  if (ignored.size >= ignoredCountMax) return;
  const path = [...findings.path.slice(1), ...below];
  const pattern = path.map((part) => (/^\d+$/.test(part) ? "*" : part)).join(".");
  if (!ignored.has(pattern)) ignored.set(pattern, path.join("."));
}

/** True if the limit of faults is reached, so that the check should end. */
export function isAtFaultLimit({ faultCount }: Findings): boolean {
  return faultCount >= countedMax;
}

/** @throws ServiceError `invalid` with the first faults and the count of the rest, when there is one */
export function refuseFaults(findings: Findings): void {
  if (findings.faultCount === 0) return;
  const faults = firstFaults(findings.faults, findings.faultCount);
  throw new ServiceError({ code: "invalid", message: summary(findings.faults, findings.faultCount), faults });
}

/**
 * Returns at most {@link faultCountMax} of the faults, and one that counts the rest if there are more; already
 * truncated lists stay unchanged.
 */
export function firstFaults(faults: readonly Fault[], count = faults.length): readonly Fault[] {
  if (faults.length === faultCountMax + 1 && faults.at(-1)?.type === moreFaults) return faults;
  const first = faults.slice(0, faultCountMax);
  const rest = count - first.length;
  if (rest === 0) return first;
  const message = `${restOf(count, first.length)} more faults are not listed.`;
  return [...first, { location: faults[0]?.location.slice(0, 1) ?? [], message, type: moreFaults }];
}

/** Describes the first ten faults and counts the rest. */
function summary(faults: readonly Fault[], count: number): string {
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

/** Visits the objects of a list; does nothing if it is no list. */
export function eachObject(
  list: unknown,
  visit: (value: Readonly<Record<string, unknown>>, index: string) => void,
): void {
  if (!Array.isArray(list)) return;
  list.forEach((value: unknown, index) => {
    if (isObject(value)) visit(value, String(index));
  });
}
