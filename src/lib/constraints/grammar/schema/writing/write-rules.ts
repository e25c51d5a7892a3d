// Writes the rules of a grammar that allows exactly the values of a goal: arrays and objects step by step, scalars as
// one lexeme. Rules are created on demand, so combinations of the counts in their names (items, properties, used
// values) exist only for actual texts.
import { present } from "../../../../../base/domain/assert.ts";
import { terminal } from "../../parser/rules.ts";
import type { GrammarSymbol, Production, Productions } from "../../parser/rules.ts";
import type { Expression } from "../../../regex/expressions.ts";
import { afterItem, bounded, canFinishArray, itemAt, mayClose, startOfArray } from "./array-counts.ts";
import type { ArrayPlan, ArrayProgress } from "./array-counts.ts";
import type { Compilation } from "../../compilation.ts";
import type { Goal } from "../goals.ts";
import { DistinctValues } from "./distinct-values.ts";
import type { JsonStyle } from "./json-style.ts";
import { otherNames } from "./other-names.ts";
import type { OtherName } from "./other-names.ts";
import { afterDeclared, canFinishObject, mayCloseObject, mayDeclare, startOf } from "./plan-object.ts";
import type { ObjectPlan, ObjectProgress } from "./plan-object.ts";
import type { Plans } from "./plans.ts";
import { UsedTexts } from "./used-texts.ts";

/** Progress of writing an object, with the names that must not repeat; `used` is null if names may repeat. */
interface Place extends ObjectProgress {
  readonly used: UsedTexts | null;
}

export class RuleWriter {
  readonly #plans: Plans;
  readonly #style: JsonStyle;
  readonly #distinctValues: DistinctValues;

  constructor(plans: Plans, style: JsonStyle) {
    this.#plans = plans;
    this.#style = style;
    this.#distinctValues = new DistinctValues(plans, style);
  }

  /** Returns the rule for the values of a goal. */
  value(goal: Goal): GrammarSymbol {
    const { rules, expressions } = this.#plans.meanings.compilation;
    return rules.rule(`value ${goal}`, () => {
      const plans = this.#plans.plans(goal);
      const scalars = plans.flatMap((plan) => (plan.type === "scalar" ? [plan.text] : []));
      const others = plans.flatMap((plan, index) => {
        const name = `${goal} ${index}`;
        if (plan.type === "array") return [this.#array(plan, name)];
        return plan.type === "object" ? [this.#object(plan, name)] : [];
      });
      return scalars.length === 0 ? others : [[terminal(expressions.or(...scalars))], ...others];
    });
  }

  #array(plan: ArrayPlan, name: string): Production {
    return [terminal(this.#style.open("[")), this.#insideArray(plan, name)];
  }

  #insideArray(plan: ArrayPlan, name: string): GrammarSymbol {
    if (plan.comparedAt !== null) return this.#distinctValues.inside(plan, name);
    if (plan.distinct === null) return this.#items(plan, name, startOfArray(plan));
    return this.#rule(`distinct ${name}`, () => this.#distinctItems(plan, UsedTexts.none(this.#compilation)));
  }

  /** Returns the rule for the rest of an array, including its end, after the items written so far. */
  #items(plan: ArrayPlan, name: string, progress: ArrayProgress): GrammarSymbol {
    const at = bounded(plan, progress);
    const { isSatisfiable } = this.#plans;
    return this.#rule(`array ${name} ${at.index} ${at.counts.join(",")}`, () => {
      const options = itemAt(plan, at.index)
        .map((way) => ({ goal: way.goal, next: afterItem(at, way) }))
        .filter(({ goal, next }) => isSatisfiable(goal) && canFinishArray(plan, next, isSatisfiable))
        .map(({ goal, next }) => [this.value(goal), this.#items(plan, name, next)]);
      return this.#listed(options, { isFirst: at.index === 0, mayClose: mayClose(plan, at) });
    });
  }

  /**
   * Returns the productions for the rest of an array with unique scalars: one more item and what follows it, or the end
   * of the array.
   */
  #distinctItems(plan: ArrayPlan, used: UsedTexts): Productions {
    const { texts } = present(plan.distinct, "the texts of items that must differ");
    const index = used.count;
    const goesOn = index < plan.max && used.leaves(texts, Math.max(1, plan.min - index));
    const { recalls } = this.#compilation;
    const behind = {
      behind: (text: string) => this.#distinctItems(plan, used.with(text)),
      afterUnknown: () => this.#distinctItems(plan, used.withUnknown()),
    };
    const options = goesOn ? [[terminal(used.leftOf(texts)), recalls.add(behind)]] : [];
    return this.#listed(options, { isFirst: index === 0, mayClose: index >= plan.min });
  }

  /**
   * Returns the productions for one more item, with a comma before it unless it is the first, and for the end of the
   * array if allowed.
   */
  #listed(
    options: Productions,
    { isFirst, mayClose: isClosable }: { readonly isFirst: boolean; readonly mayClose: boolean },
  ): Productions {
    const { closeEmpty, close, comma } = this.#style;
    const items = isFirst ? options : options.map((option) => [terminal(comma), ...option]);
    return isClosable ? [...items, [terminal(isFirst ? closeEmpty("]") : close("]"))]] : items;
  }

  #object(plan: ObjectPlan, name: string): Production {
    const used = plan.nameCounts === null ? null : UsedTexts.none(this.#compilation);
    const start = { ...startOf(plan), used };
    const { open, closeEmpty } = this.#style;
    const inside = this.#rule(`first ${name}`, () => [
      [this.#property(plan, name, start)],
      ...(mayCloseObject(plan, start) ? [[terminal(closeEmpty("}"))]] : []),
    ]);
    return [terminal(open("{")), inside];
  }

  /** Returns the rule for the rest of an object after a property. */
  #behind(plan: ObjectPlan, name: string, place: Place): GrammarSymbol {
    const at = limited(plan, place);
    return this.#rule(`object ${name} ${nameOf(at)}`, () => {
      const { comma, close } = this.#style;
      const goesOn =
        mayDeclare(plan, at, this.#plans.isSatisfiable) ||
        (mayPassDeclared(plan, at) && this.#otherNames(plan, at).length > 0);
      return [
        ...(goesOn ? [[terminal(comma), this.#property(plan, name, at)]] : []),
        ...(mayCloseObject(plan, at) ? [[terminal(close("}"))]] : []),
      ];
    });
  }

  /**
   * Returns the rule for one more property and the rest of the object. The property is a declared one, up to the next
   * required one, or an undeclared one if no declared one is required.
   */
  #property(plan: ObjectPlan, name: string, place: Place): GrammarSymbol {
    const at = limited(plan, place);
    return this.#rule(`property ${name} ${nameOf(at)}`, () => {
      const { texts } = this.#plans.meanings;
      const options: Production[] = [];
      for (let position = at.position; position < plan.declared.length; position++) {
        const { name: own, goal, isRequired } = plan.declared[position];
        const key = texts.literal(JSON.stringify(own));
        const after = afterDeclared(plan, at, position);
        options.push(...this.#named(plan, name, { key, goal, after }));
        if (isRequired) return options;
      }
      const others = this.#otherNames(plan, at);
      return [
        ...options,
        ...others.map((other) => this.#otherProperty(plan, name, { other, used: at.used })),
      ];
    });
  }

  #otherNames(plan: ObjectPlan, { used, ...progress }: Place): readonly OtherName[] {
    return otherNames(this.#plans, plan, { progress, used });
  }

  /** Returns the productions for a property with an undeclared name, followed by the rest of the object. */
  #otherProperty(
    plan: ObjectPlan,
    name: string,
    { other, used }: { readonly other: OtherName; readonly used: UsedTexts | null },
  ): Production {
    const { key, goal, after } = other;
    const { recalls, expressions } = this.#compilation;
    const { colon } = this.#style;
    const value = this.value(goal);
    if (used === null)
      return [
        terminal(expressions.sequence(key, colon)),
        value,
        this.#behind(plan, name, { ...after, used }),
      ];
    const behind = (more: UsedTexts): Productions => [
      [terminal(colon), value, this.#behind(plan, name, { ...after, used: more })],
    ];
    const recall = recalls.add({
      behind: (text) => behind(used.with(text)),
      afterUnknown: () => behind(used.withUnknown()),
    });
    return [terminal(used.leftOf(key)), recall];
  }

  #named(
    plan: ObjectPlan,
    name: string,
    { key, goal, after }: { readonly key: Expression; readonly goal: Goal; readonly after: Place },
  ): Productions {
    const { isSatisfiable } = this.#plans;
    if (!isSatisfiable(goal) || !canFinishObject(plan, after, isSatisfiable)) return [];
    const lexeme = this.#compilation.expressions.sequence(key, this.#style.colon);
    return [[terminal(lexeme), this.value(goal), this.#behind(plan, name, after)]];
  }

  get #compilation(): Compilation {
    return this.#plans.meanings.compilation;
  }

  #rule(name: string, make: () => Productions): GrammarSymbol {
    return this.#compilation.rules.rule(name, make);
  }
}

function limited({ min, max }: ObjectPlan, place: Place): Place {
  if (max !== Number.POSITIVE_INFINITY) return place;
  return { ...place, count: Math.min(place.count, min) };
}

const nameOf = ({ position, count, wants, open, used }: Place): string =>
  `${position} ${count} ${wants.join(",")} ${open.join(",")}${used === null ? "" : ` ${used.id}`}`;

/** True if none of the remaining declared properties is required. */
const mayPassDeclared = ({ declared }: ObjectPlan, { position }: Place): boolean =>
  !declared.slice(position).some(({ isRequired }) => isRequired);
