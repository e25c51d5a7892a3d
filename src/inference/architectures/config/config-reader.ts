// Reads typed fields of a configuration file and collects every fault, so that one error can name them all.
import { ServiceError } from "../../../base/domain/service-error.ts";

/** A parsed JSON object, nothing known of its fields. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** More than any model has of anything; memory is allocated by these numbers before a weight is read. */
const countMax = 2 ** 24;

/** Place of an object in the file, and the list that collects its faults. */
interface Place {
  /** With a dot at its end; empty for the whole file. */
  readonly path: string;
  readonly faults: string[];
  /** Another name for a field, by which it is shown; null for its own. */
  readonly nameOf: (field: string) => string | null;
}

export class ConfigReader {
  readonly #fields: JsonObject;
  readonly #file: string;
  readonly #place: Place;

  /** @param file the name that faults carry */
  constructor(fields: JsonObject, file: string, place: Partial<Place> = {}) {
    this.#fields = fields;
    this.#file = file;
    this.#place = { path: "", faults: [], nameOf: () => null, ...place };
  }

  get fields(): JsonObject {
    return this.#fields;
  }

  get hasFaults(): boolean {
    return this.#place.faults.length > 0;
  }

  get names(): readonly string[] {
    return Object.keys(this.#fields);
  }

  get(field: string): unknown {
    return this.#fields[field];
  }

  /** A whole number from 1 to `max`; without a fallback it has to be there. */
  count(field: string, fallback?: number, max = countMax): number {
    const value = this.#fields[field] ?? fallback;
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max) return value;
    this.refuse(field, `a whole number from 1 to ${max} is needed`);
    return 1;
  }

  /** A finite number above 0. */
  number(field: string, fallback?: number): number {
    const value = this.#fields[field] ?? fallback;
    if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
    this.refuse(field, "a number above 0 is needed");
    return 1;
  }

  /** A list of finite numbers above 0, which has to be there. */
  numbers(field: string): readonly number[] {
    const values = this.#fields[field];
    const isUsable = (value: unknown): boolean => Number.isFinite(value) && Number(value) > 0;
    if (Array.isArray(values) && values.every(isUsable)) return values as readonly number[];
    this.refuse(field, "a list of numbers above 0 is needed");
    return [];
  }

  flag(field: string, fallback: boolean): boolean {
    const value = this.#fields[field] ?? fallback;
    if (typeof value === "boolean") return value;
    this.refuse(field, "true or false is needed");
    return fallback;
  }

  /** The object in a field, whose faults count among these; null when absent or null. */
  object(field: string): ConfigReader | null {
    const value = this.#fields[field] ?? null;
    if (value === null) return null;
    if (typeof value === "object" && !Array.isArray(value)) {
      const path = `${this.#nameOf(field)}.`;
      return new ConfigReader(value as JsonObject, this.#file, { path, faults: this.#place.faults });
    }
    this.refuse(field, "an object is needed");
    return null;
  }

  /** Notes that the field's value cannot be honoured; `cure` says what would help. */
  refuse(field: string, cure: string): void {
    const value = JSON.stringify(this.#fields[field]) ?? "absent";
    const shown = value.length > 200 ? `${value.slice(0, 200)}…` : value;
    this.#place.faults.push(`${this.#nameOf(field)} is ${shown}: ${cure}.`);
  }

  #nameOf(field: string): string {
    const { path, nameOf } = this.#place;
    return nameOf(field) ?? `${path}${field}`;
  }

  /** All faults in one error, after a sentence that says what they prevent. */
  error(consequence: string): ServiceError {
    return new ServiceError({
      code: "unsupported",
      message: `${consequence} ${this.#place.faults.join(" ")}`,
      faults: this.#place.faults.map((message) => ({ location: [this.#file], message, type: "unsupported" })),
    });
  }
}
