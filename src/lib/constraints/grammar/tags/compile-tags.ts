// Compiles a structural tag to productions. Leaves out formats that no text satisfies, so generation reaches no dead
// end: it never writes a tag with unsatisfiable content, nor the tag's trigger.
import { unreachable } from "../../../../base/domain/assert.ts";
import type { ConstraintRule } from "../../../../base/domain/constraint.ts";
import { ConstraintRefusal } from "../../regex/limits.ts";
import type { Expression } from "../../regex/expressions.ts";
import { isTerminal, symbolIndex, terminal } from "../parser/rules.ts";
import type { GrammarSymbol, Production, Productions } from "../parser/rules.ts";
import type { Compilation } from "../compilation.ts";
import type { Dispatch, Format, SeparatedTags, Tag, TriggeredTags } from "./formats.ts";
import { FreeText } from "./free-text.ts";

/**
 * Compiles a constraint within the tag. If no text satisfies it, the symbol is an empty terminal or has no
 * productions.
 */
export type ReadContent = (rule: ConstraintRule) => GrammarSymbol;

/**
 * Compiles a structural tag to the grammar symbol that matches the tag's texts.
 *
 * @throws ConstraintRefusal if content of the tag is refused; the refusal's location begins with the location of that
 * content
 */
export function compileTags(
  format: Format,
  readContent: ReadContent,
  compilation: Compilation,
): GrammarSymbol {
  return new TagCompiler(readContent, compilation).symbol(format);
}

/** Context of a format in its enclosing tag. */
interface Surroundings {
  /** Ends of the enclosing tag. Free text must not contain a non-empty end. */
  readonly ends: readonly string[];
  /** True if the format is the last one in the tag, so that an end of the tag must follow it. */
  readonly closes: boolean;
}

/** Context of a format outside any tag. */
const nowhere: Surroundings = { ends: [], closes: false };

interface Branch {
  readonly trigger: string;
  /** Productions for the text after the trigger. */
  readonly bodies: Productions;
}

class TagCompiler {
  readonly #readContent: ReadContent;
  readonly #compilation: Compilation;
  #ruleCount = 0;

  constructor(readContent: ReadContent, compilation: Compilation) {
    this.#readContent = readContent;
    this.#compilation = compilation;
  }

  symbol(format: Format): GrammarSymbol {
    return this.#rule(this.#written(format, nowhere));
  }

  /**
   * Returns the productions of a format, without those that match no text. If the format closes its tag, each
   * production also contains an end of the tag.
   */
  #written(format: Format, around: Surroundings): Productions {
    switch (format.kind) {
      case "text":
        return [[this.#anyOf([format.text]), ...this.#closing(around)]];
      case "constrained":
        return this.#constrained(format.rule, format.place).map((one) => [...one, ...this.#closing(around)]);
      case "free":
        return this.#free(new FreeText(this.#compilation, filled(around.ends), format.excludes), around);
      case "sequence":
        return this.#sequence(format.parts, around);
      case "choice":
        return this.#choice(format.parts, around);
      case "repeat":
        return this.#repeated(format, around);
      case "tag":
        return this.#tag(format).map((one) => [...one, ...this.#closing(around)]);
      case "triggered":
        return this.#triggered(format, around);
      case "dispatch":
        return this.#dispatched(format, around);
      case "separated":
        return this.#separated(format, around);
      default:
        return unreachable(format);
    }
  }

  #constrained(rule: ConstraintRule, place: string): Productions {
    const { automaton, rules } = this.#compilation;
    const symbol = within(place, () => this.#readContent(rule));
    const isEmpty = isTerminal(symbol)
      ? automaton.isEmpty(symbolIndex(symbol))
      : rules.productions(symbol).length === 0;
    return isEmpty ? [] : [[symbol]];
  }

  /** Returns productions for free text, up to and including the tag's end if the text closes the tag. */
  #free(text: FreeText, { ends, closes }: Surroundings): Productions {
    const open = this.#lexeme(text.open);
    if (!closes) return open;
    const closed = filled(ends).flatMap((end) => this.#before(text, end));
    return ends.includes("") ? [...open, ...closed] : closed;
  }

  /** Returns productions for free text up to and including a stop. */
  #before(text: FreeText, stop: string): Productions {
    return this.#lexeme(text.before(stop)).map((one) => [...one, this.#anyOf([stop])]);
  }

  #sequence(parts: readonly Format[], around: Surroundings): Productions {
    const each = parts.map((part, index) =>
      this.#written(part, index === parts.length - 1 ? around : { ...around, closes: false }),
    );
    if (each.some(({ length }) => length === 0)) return [];
    return [each.flatMap((ways) => this.#one(ways))];
  }

  /** Returns the alternatives of a choice; all fixed texts form one lexeme. */
  #choice(parts: readonly Format[], around: Surroundings): Productions {
    const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
    const others = parts.filter(({ kind }) => kind !== "text");
    return [
      ...(texts.length === 0 ? [] : [[this.#anyOf(texts), ...this.#closing(around)]]),
      ...others.flatMap((part) => this.#written(part, around)),
    ];
  }

  #repeated(
    { part, min, max }: { readonly part: Format; readonly min: number; readonly max: number },
    around: Surroundings,
  ): Productions {
    const once = this.#written(part, { ...around, closes: false });
    const closing = this.#closing(around);
    if (once.length === 0) return min === 0 ? [closing] : [];
    const one = this.#one(once);
    const name = this.#freshName();
    // Without a maximum, occurrences beyond the minimum are not counted, so the number of rules is finite.
    const countMax = max === Number.POSITIVE_INFINITY ? min : max;
    const behind = (count: number): GrammarSymbol =>
      this.#compilation.rules.rule(`${name} ${count}`, () => [
        ...(count >= min ? [closing] : []),
        ...(count < max ? [[...one, behind(Math.min(count + 1, countMax))]] : []),
      ]);
    return [[behind(0)]];
  }

  /**
   * Returns the productions of a tag.
   *
   * @param from number of characters of `begin` that have already been written
   */
  #tag({ begin, content, ends }: Tag, from = 0): Productions {
    const bodies = this.#written(content, { ends, closes: true });
    return bodies.map((body) => [this.#anyOf([begin.slice(from)]), ...body]);
  }

  #triggered(format: TriggeredTags, around: Surroundings): Productions {
    const { excludes, needsOne, stopsAfterFirst } = format;
    const branches = format.branches.map(({ trigger, tags }) => ({
      trigger,
      bodies: tags.flatMap((tag) => this.#tag(tag, trigger.length)),
    }));
    const { mixed, behind } = this.#mixed({ branches, excludes, stopsAfterFirst }, around);
    if (mixed.length === 0) return [];
    if (!needsOne) return mixed;
    return branches
      .filter(({ bodies }) => bodies.length > 0)
      .map(({ trigger, bodies }) => [this.#anyOf([trigger]), ...this.#one(bodies), ...behind]);
  }

  /**
   * Returns productions for free text with dispatched formats. Unless `excludes` lists them, the free text may contain
   * the ends of the enclosing tag.
   */
  #dispatched({ branches, excludes, stopsAfterFirst }: Dispatch, around: Surroundings): Productions {
    const inside = { ends: around.ends, closes: false };
    const written = branches.map(({ trigger, format }) => ({
      trigger,
      bodies: this.#written(format, inside),
    }));
    const { mixed } = this.#mixed({ branches: written, excludes, stopsAfterFirst }, nowhere);
    return mixed.map((one) => [...one, ...this.#closing(around)]);
  }

  /**
   * Returns productions for free text interrupted by triggers with their bodies.
   *
   * @returns `mixed`, the productions of the whole text, and `behind`, the continuation after each body
   */
  #mixed(
    {
      branches,
      excludes,
      stopsAfterFirst,
    }: Pick<Dispatch, "excludes" | "stopsAfterFirst"> & { readonly branches: readonly Branch[] },
    around: Surroundings,
  ): { readonly mixed: Productions; readonly behind: Production } {
    const stops = [...branches.map(({ trigger }) => trigger), ...filled(around.ends)];
    const text = new FreeText(this.#compilation, stops, excludes);
    const free = this.#free(text, around);
    // If free text is unsatisfiable, the text can end only after a last tag, which exists only with `stopsAfterFirst`.
    if (free.length === 0 && !stopsAfterFirst) return { mixed: [], behind: [] };
    const again: Production = [this.#compilation.rules.rule(this.#freshName(), () => mixed)];
    const behind = stopsAfterFirst ? this.#closing(around) : again;
    const called = branches.flatMap(({ trigger, bodies }): Productions => {
      if (bodies.length === 0) return [];
      return this.#before(text, trigger).map((one) => [...one, ...this.#one(bodies), ...behind]);
    });
    const mixed = [...free, ...called];
    return { mixed, behind };
  }

  #separated(format: SeparatedTags, around: Surroundings): Productions {
    const closing = this.#closing(around);
    const tags = format.tags.flatMap((tag) => this.#tag(tag));
    const none = format.needsOne ? [] : [closing];
    if (tags.length === 0) return none;
    const one = this.#one(tags);
    if (format.stopsAfterFirst) return [...none, [...one, ...closing]];
    const separator = this.#anyOf([format.separator]);
    const more: GrammarSymbol = this.#compilation.rules.rule(this.#freshName(), () => [
      closing,
      [separator, ...one, more],
    ]);
    return [...none, [...one, more]];
  }

  /** Returns the tag's end if the format closes the tag; otherwise an empty production. */
  #closing({ ends, closes }: Surroundings): Production {
    return closes ? [this.#anyOf(ends)] : [];
  }

  #anyOf(texts: readonly string[]): GrammarSymbol {
    return terminal(this.#compilation.expressions.anyText(texts));
  }

  #lexeme(expression: Expression): Productions {
    return this.#compilation.automaton.isEmpty(expression) ? [] : [[terminal(expression)]];
  }

  #one(ways: Productions): Production {
    return ways.length === 1 ? ways[0] : [this.#rule(ways)];
  }

  #rule(ways: Productions): GrammarSymbol {
    return this.#compilation.rules.rule(this.#freshName(), () => ways);
  }

  #freshName(): string {
    this.#ruleCount += 1;
    return `tags ${this.#ruleCount}`;
  }
}

const filled = (texts: readonly string[]): readonly string[] => texts.filter((text) => text !== "");

/**
 * Runs `read` on the content at `place`. If it refuses the content, prepends `place` to the location in the refusal.
 */
function within<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    const { kind, subject, message } = error;
    const inner = error.place.startsWith("#/") ? error.place.slice(1) : error.place && `, ${error.place}`;
    throw new ConstraintRefusal({
      kind,
      subject,
      place: `${place}${inner}`,
      message: `In the content at ${place}: ${message}`,
    });
  }
}
