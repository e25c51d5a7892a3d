// What a check finds in a value: faults, each with its place, and fields that nothing reads. The first part of a place
// says where the value came from, such as `body`; the rest leads into it.
import { ServiceError, type Fault } from "../domain/service-error.ts";

/** Faults and unknown fields, as they are found; `path` is where the walk stands. */
export interface Findings {
  readonly path: string[];
  readonly faults: Fault[];
  /** Unknown fields that nothing reads, as dotted names with `*` for list indices. */
  readonly ignored: Set<string>;
}

/** Beyond this many the rest is only counted: an answer must stay readable. */
const faultCountMax = 10_000;

export function newFindings(...path: readonly string[]): Findings {
  return { path: [...path], faults: [], ignored: new Set() };
}

/** Adds a fault at the current place, or below it. */
export function report(findings: Findings, type: string, message: string, ...below: readonly string[]): void {
  if (findings.faults.length < faultCountMax) {
    findings.faults.push({ location: [...findings.path, ...below], message, type });
  }
}

/** @throws ServiceError `invalid` with every fault, when there is one */
export function refuseFaults(faults: readonly Fault[]): void {
  if (faults.length > 0) throw new ServiceError({ code: "invalid", message: summary(faults), faults });
}

/** The faults in one text, the first ten in words. */
export function summary(faults: readonly Fault[]): string {
  const words = faults.slice(0, 10).map(({ location, message }) => {
    const name = location.slice(1).join(".");
    return name === "" ? message : `${name}: ${message}`;
  });
  const rest = faults.length - words.length;
  return words.join("; ") + (rest > 0 ? `; and ${rest} more` : "");
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
