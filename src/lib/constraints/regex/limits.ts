// What compiling a constraint and computing its masks may cost, counted in steps rather than in time, so that the same
// constraint is always served or always refused. Also the one error of constraints.
import type { Refusal, RefusalKind } from "../../../base/domain/constraint.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

export interface GrammarLimits {
  /** Bytes of the schema, pattern, choices or grammar. */
  readonly sourceBytes: number;
  /** How deeply a pattern, schema or grammar may nest. */
  readonly nesting: number;
  /** Units of work while compiling; one is about a microsecond. */
  readonly compileSteps: number;
  /** Units of work of one mask, or of accepting one token. */
  readonly maskSteps: number;
  /** Distinct expressions, lexer states and parser states that a constraint may hold, each. */
  readonly states: number;
  /** Alternatives that the combinations of one place in a schema may come to. */
  readonly alternatives: number;
  /** Bytes of the masks that are kept for each constraint. */
  readonly cachedMaskBytes: number;
  /** Whether a format that is not known is refused, rather than said to ask for nothing. */
  readonly strictFormats: boolean;
}

export const defaultGrammarLimits: GrammarLimits = {
  sourceBytes: 256 * 1024,
  nesting: 200,
  compileSteps: 60_000,
  maskSteps: 50_000,
  states: 60_000,
  alternatives: 1024,
  cachedMaskBytes: 16 * 1024 * 1024,
  strictFormats: false,
};

/** Of what no request makes. */
export const unlimitedGrammar: GrammarLimits = {
  sourceBytes: Number.POSITIVE_INFINITY,
  nesting: defaultGrammarLimits.nesting,
  compileSteps: Number.POSITIVE_INFINITY,
  maskSteps: Number.POSITIVE_INFINITY,
  states: Number.POSITIVE_INFINITY,
  alternatives: Number.POSITIVE_INFINITY,
  cachedMaskBytes: Number.POSITIVE_INFINITY,
  strictFormats: false,
};

/** A constraint that is refused; the message names what, where, and what is possible instead. */
export class ConstraintRefusal extends ServiceError implements Refusal {
  readonly kind: RefusalKind;
  readonly subject: string;
  readonly place: string;

  constructor(refusal: Refusal) {
    super({
      code: refusal.kind === "not-exact" ? "unsupported" : "invalid",
      message: refusal.message,
    });
    this.name = "ConstraintRefusal";
    this.kind = refusal.kind;
    this.subject = refusal.subject;
    this.place = refusal.place;
  }
}

type CountedLimit = Exclude<keyof GrammarLimits, "strictFormats">;

/**
 * The refusal of a constraint that exceeds the limit of the given name.
 *
 * @param keyword that was being read at the place
 */
export function limitExceeded(
  limit: CountedLimit,
  allowed: number,
  place = "",
  keyword = "",
): ConstraintRefusal {
  const where = place === "" ? "" : ` at ${place}${keyword === "" ? "" : `, in the keyword ${keyword}`}`;
  return new ConstraintRefusal({
    kind: "limit",
    subject: limit,
    place,
    message: `The constraint exceeds the limit ${limit} of ${allowed}${where}. Make it simpler.`,
  });
}

/** Reads a part of a constraint: a limit that is exceeded in it is refused with its place, the innermost. */
export function readAt<T>(
  limits: GrammarLimits,
  { place, keyword }: { readonly place: string; readonly keyword?: string },
  read: () => T,
): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConstraintRefusal) || error.kind !== "limit" || error.place !== "") throw error;
    // The subject of such a refusal is the limit's name.
    const limit = error.subject as CountedLimit;
    throw limitExceeded(limit, limits[limit], place, keyword);
  }
}

/** Runs what recurses, so that a nesting too deep for the stack is refused like any other. */
export function withinStack<T>(limits: GrammarLimits, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof RangeError ? limitExceeded("nesting", limits.nesting) : error;
  }
}

/** Counts the work of one compilation or one mask, and refuses it at its limit. */
export class StepBudget {
  #left: number;
  #limit: "compileSteps" | "maskSteps";
  readonly #limits: GrammarLimits;

  constructor(limits: GrammarLimits) {
    this.#limits = limits;
    this.#limit = "compileSteps";
    this.#left = limits.compileSteps;
  }

  /** Begins the count of another piece of work, which may take the limit's steps that many times. */
  restart(limit: "compileSteps" | "maskSteps", times = 1): void {
    this.#limit = limit;
    this.#left = this.#limits[limit] * times;
  }

  /** @throws ConstraintRefusal once more than the limit's steps are spent */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw limitExceeded(this.#limit, this.#limits[this.#limit]);
  }
}
