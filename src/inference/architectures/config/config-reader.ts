// Reads typed fields of a configuration file and collects every fault, so that one error can name them all.
import { ServiceError } from "../../../base/domain/service-error.ts";

/** Parsed JSON object. The values of its fields are unchecked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Maximum of any count; counts of real models are lower. Without this limit, a wrong count could make Hone allocate too
 * much memory before it reads any weight.
 */
const countMax = 2 ** 24;

/** Location of an object in the file, and the list to which its faults are added. */
interface Place {
  /** Path of the object with a trailing dot; empty for the whole file. */
  readonly path: string;
  readonly faults: string[];
  /** Returns another name for a field in error messages; null to use the field's own name. */
  readonly nameOf: (field: string) => string | null;
}

export class ConfigReader {
  readonly #fields: JsonObject;
  readonly #file: string;
  readonly #place: Place;

  /** @param file file name for error messages */
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

  /** Reads a whole number from 1 to `max`. The field is required unless there is a fallback. */
  count(field: string, fallback?: number, max = countMax): number {
    const value = this.#fields[field] ?? fallback;
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max) return value;
    this.refuse(field, `a whole number from 1 to ${max} is needed`);
    return 1;
  }

  /** Reads a finite number above 0. */
  number(field: string, fallback?: number): number {
    const value = this.#fields[field] ?? fallback;
    if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
    this.refuse(field, "a number above 0 is needed");
    return 1;
  }

  /** Reads a required list of finite numbers above 0. */
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

  /**
   * Returns a reader of the JSON object in a field. If the field is absent or null, returns a reader of `fallback`, or
   * null without a fallback. The new reader adds its faults to the same list.
   */
  object(field: string, fallback: JsonObject | null = null): ConfigReader | null {
    const value = this.#fields[field] ?? fallback;
    if (value === null) return null;
    if (typeof value === "object" && !Array.isArray(value)) {
      const path = `${this.#nameOf(field)}.`;
      return new ConfigReader(value as JsonObject, this.#file, { path, faults: this.#place.faults });
    }
    this.refuse(field, "an object is needed");
    return null;
  }

  /**
   * Records a fault: the field's value is not supported.
   *
   * @param cure part of the message that says how to solve the problem
   */
  refuse(field: string, cure: string): void {
    const value = JSON.stringify(this.#fields[field]) ?? "absent";
    const shown = value.length > 200 ? `${value.slice(0, 200)}…` : value;
    this.#place.faults.push(`${this.#nameOf(field)} is ${shown}: ${cure}.`);
  }

  #nameOf(field: string): string {
    const { path, nameOf } = this.#place;
    return nameOf(field) ?? `${path}${field}`;
  }

  /** Returns one error that lists all faults. Its message begins with their consequence. */
  error(consequence: string): ServiceError {
    return new ServiceError({
      code: "unsupported",
      message: `${consequence} ${this.#place.faults.join(" ")}`,
      faults: this.#place.faults.map((message) => ({ location: [this.#file], message, type: "unsupported" })),
    });
  }
}
