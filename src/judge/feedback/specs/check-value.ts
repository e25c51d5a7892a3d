// Validates a value against a parsed schema. The number of steps is limited, because even a small schema can require
// very much work.
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { isJsonObject, type Json } from "../../../base/domain/text/json.ts";
import { shown, type FieldSchema, type SchemaFault } from "./field-schema.ts";
import { isKeyword } from "./schema-keywords.ts";
import { valueRules, type Walk } from "./value-rules.ts";

/**
 * Maximum number of steps of one validation. Applying a keyword is one step; other work counts as several steps if it
 * takes longer. Reaching the limit takes some tens of milliseconds.
 */
const stepsMax = 200_000;
const faultsMax = 20;
/** Maximum number of references (`$ref`) in a chain that does not descend into the value. */
const depthMax = 400;

/** Returns the faults of a value with their paths; empty if the value is valid. */
export function checkValue(schema: FieldSchema, value: Json): readonly SchemaFault[] {
  const check = new ValueCheck(schema);
  try {
    check.visit(schema.root, value, []);
  } catch (error) {
    // Matching an expensive pattern throws a ServiceError, whose message explains the problem.
    if (!(error instanceof ServiceError)) throw error;
    return [{ path: [], message: `cannot be checked: ${error.message}` }];
  }
  return check.faults;
}

class ValueCheck {
  readonly faults: SchemaFault[] = [];
  readonly #schema: FieldSchema;
  #stepsLeft = stepsMax;
  #depth = 0;
  /**
   * True while a schema is only tried, as `anyOf` tries each of its schemas. The faults that it finds are then not
   * reported.
   */
  #isTrial = false;
  #trialFails = false;

  constructor(schema: FieldSchema) {
    this.#schema = schema;
  }

  visit(schema: Json, value: Json, path: readonly string[]): void {
    this.#spend(1);
    if (this.#isDone) return;
    if (schema === false) return this.#report(value, path, "is excluded by the schema");
    if (!isJsonObject(schema)) return;
    this.#depth += 1;
    if (this.#depth > depthMax) throw tooMuch("leads from schema to schema without end");
    const walk: Walk = {
      schema,
      fault: (message, ...below) =>
        this.#report(below.length > 0 ? undefined : value, [...path, ...below], message),
      visit: (inner, member, ...below) =>
        this.visit(inner, member, below.length > 0 ? [...path, ...below] : path),
      fits: (inner, member) => this.#fits(inner, member),
      target: (reference) => this.#schema.targets.get(reference) ?? true,
      matches: (pattern, text) => {
        this.#spend(1 + (text.length >>> 4));
        return this.#schema.patterns.read(pattern).isIn(text);
      },
      spend: (steps) => this.#spend(steps),
    };
    for (const [name, wanted] of Object.entries(schema)) {
      if (!isKeyword(name)) continue;
      this.#spend(1);
      valueRules[name](wanted, value, walk);
      if (this.#isDone) break;
    }
    this.#depth -= 1;
  }

  /** True if the result is already certain, so that looking for further faults is useless. */
  get #isDone(): boolean {
    return this.#isTrial ? this.#trialFails : this.faults.length >= faultsMax;
  }

  #fits(schema: Json, value: Json): boolean {
    const outer = { isTrial: this.#isTrial, fails: this.#trialFails };
    this.#isTrial = true;
    this.#trialFails = false;
    this.visit(schema, value, []);
    const fits = !this.#trialFails;
    this.#isTrial = outer.isTrial;
    this.#trialFails = outer.fails;
    return fits;
  }

  /** @param value value that the message quotes; undefined if the fault is an invalid property name */
  #report(value: Json | undefined, path: readonly string[], message: string): void {
    if (this.#isTrial) this.#trialFails = true;
    else this.faults.push({ path, message: value === undefined ? message : `${shown(value)} ${message}` });
  }

  #spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw tooMuch(`asks for more than ${stepsMax} steps with this value`);
  }
}

function tooMuch(what: string): ServiceError {
  return invalid(`the spec's schema ${what}; make it simpler`);
}
