// The rules of a grammar that writes exactly the values of a goal: arrays and objects step by step, scalars as one lexeme.
// What a rule's name counts (items, properties, values used) is only multiplied out where a text goes.
import { terminal } from "../../parser/rules.ts";
import type { GrammarSymbol, Production, Productions } from "../../parser/rules.ts";
import type { Expression } from "../../../regex/expressions.ts";
import { canFinishArray, itemAt, mayClose } from "./array-counts.ts";
import type { ArrayPlan, ArrayProgress } from "./array-counts.ts";
import type { Goal } from "../goals.ts";
import type { JsonStyle } from "./json-style.ts";
import { canFinishObject, mayCloseObject, mayGoOn } from "./plan-object.ts";
import type { ObjectPlan, ObjectProgress } from "./plan-object.ts";
import type { Plans } from "./plans.ts";

export class RuleWriter {
  readonly #plans: Plans;
  readonly #style: JsonStyle;

  constructor(plans: Plans, style: JsonStyle) {
    this.#plans = plans;
    this.#style = style;
  }

  /** The rule of any value of the goal. */
  value(goal: Goal): GrammarSymbol {
    const { rules, expressions } = this.#plans.meanings.workshop;
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
    const inside =
      plan.different === null
        ? this.#items(plan, name, { index: 0, counted: 0 })
        : this.#differentItems(plan, name, { texts: plan.different, used: [] });
    return [terminal(this.#style.open("[")), inside];
  }

  /** What may stand between the items so far and the end of the array, with it. */
  #items(plan: ArrayPlan, name: string, progress: ArrayProgress): GrammarSymbol {
    const at = bounded(plan, progress);
    return this.#rule(`array ${name} ${at.index} ${at.counted}`, () => {
      const { plain, counted } = itemAt(plan, at.index);
      const index = at.index + 1;
      const options = [
        ...this.#item(plan, name, { goals: plain, next: { index, counted: at.counted } }),
        ...this.#item(plan, name, { goals: counted, next: { index, counted: at.counted + 1 } }),
      ];
      return this.#listed(options, { isFirst: at.index === 0, mayClose: mayClose(plan, at) });
    });
  }

  #item(
    plan: ArrayPlan,
    name: string,
    { goals, next }: { readonly goals: readonly Goal[]; readonly next: ArrayProgress },
  ): Productions {
    if (!canFinishArray(plan, next, this.#plans.isFruitful)) return [];
    return goals
      .filter((goal) => this.#plans.isFruitful(goal))
      .map((goal) => [this.value(goal), this.#items(plan, name, next)]);
  }

  #differentItems(
    plan: ArrayPlan,
    name: string,
    { texts, used }: { readonly texts: readonly Expression[]; readonly used: readonly number[] },
  ): GrammarSymbol {
    return this.#rule(`different ${name} ${used.join(",")}`, () => {
      const unused =
        used.length >= plan.max ? [] : [...texts.keys()].filter((index) => !used.includes(index));
      const options = unused.map((index): Production => {
        const next = [...used, index].sort((one, other) => one - other);
        return [terminal(texts[index]), this.#differentItems(plan, name, { texts, used: next })];
      });
      return this.#listed(options, {
        isFirst: used.length === 0,
        mayClose: used.length >= plan.min,
      });
    });
  }

  /** Items behind a comma unless they are the first, or the end of the array. */
  #listed(
    options: Productions,
    { isFirst, mayClose: isClosable }: { readonly isFirst: boolean; readonly mayClose: boolean },
  ): Productions {
    const { closeEmpty, close, comma } = this.#style;
    const items = isFirst ? options : options.map((option) => [terminal(comma), ...option]);
    return isClosable ? [...items, [terminal(isFirst ? closeEmpty("]") : close("]"))]] : items;
  }

  #object(plan: ObjectPlan, name: string): Production {
    const start = { position: 0, count: 0, wanted: plan.wanted !== null };
    const { open, closeEmpty } = this.#style;
    const inside = this.#rule(`first ${name}`, () => [
      [this.#property(plan, name, start)],
      ...(mayCloseObject(plan, start) ? [[terminal(closeEmpty("}"))]] : []),
    ]);
    return [terminal(open("{")), inside];
  }

  /** What may stand behind a property. */
  #behind(plan: ObjectPlan, name: string, progress: ObjectProgress): GrammarSymbol {
    const at = limited(plan, progress);
    return this.#rule(`object ${name} ${at.position} ${at.count} ${at.wanted}`, () => {
      const { comma, close } = this.#style;
      const goesOn = mayGoOn(plan, at, this.#plans.isFruitful);
      return [
        ...(goesOn ? [[terminal(comma), this.#property(plan, name, at)]] : []),
        ...(mayCloseObject(plan, at) ? [[terminal(close("}"))]] : []),
      ];
    });
  }

  /** One more property, up to the next that is required, and what is behind it. */
  #property(plan: ObjectPlan, name: string, progress: ObjectProgress): GrammarSymbol {
    const { position, count, wanted } = limited(plan, progress);
    return this.#rule(`property ${name} ${position} ${count} ${wanted}`, () => {
      const { texts } = this.#plans.meanings;
      const options: Production[] = [];
      for (let at = position; at < plan.declared.length; at++) {
        const { name: own, goal, isRequired } = plan.declared[at];
        const key = texts.literal(JSON.stringify(own));
        const after = { position: at + 1, count: count + 1, wanted };
        options.push(...this.#named(plan, name, { key, goal, after }));
        if (isRequired) return options;
      }
      const behind = { position: plan.declared.length, count, wanted };
      return [...options, ...this.#otherProperty(plan, name, behind)];
    });
  }

  /** A property with a name that is not declared. */
  #otherProperty(plan: ObjectPlan, name: string, { position, count, wanted }: ObjectProgress): Productions {
    const { texts } = this.#plans.meanings;
    const key = (body: Expression) => texts.string({ type: "string", body, values: null });
    return [
      ...plan.rules.flatMap(({ names, goal }) =>
        this.#named(plan, name, {
          key: key(names),
          goal,
          after: { position, count: count + 1, wanted },
        }),
      ),
      ...(wanted ? (plan.wanted ?? []) : []).flatMap(({ names, goal }) =>
        this.#named(plan, name, {
          key: key(names),
          goal,
          after: { position, count: count + 1, wanted: false },
        }),
      ),
    ];
  }

  #named(
    plan: ObjectPlan,
    name: string,
    { key, goal, after }: { readonly key: Expression; readonly goal: Goal; readonly after: ObjectProgress },
  ): Productions {
    const { isFruitful, meanings } = this.#plans;
    if (!isFruitful(goal) || !canFinishObject(plan, after, isFruitful)) return [];
    const lexeme = meanings.workshop.expressions.sequence(key, this.#style.colon);
    return [[terminal(lexeme), this.value(goal), this.#behind(plan, name, after)]];
  }

  #rule(name: string, make: () => Productions): GrammarSymbol {
    return this.#plans.meanings.workshop.rules.rule(name, make);
  }
}

/** Progress beyond which nothing changes is the same. */
function bounded({ min, max, items, counting }: ArrayPlan, { index, counted }: ArrayProgress): ArrayProgress {
  const indexMax = max === Number.POSITIVE_INFINITY ? Math.max(items.length, min, 1) : max;
  const countMax =
    counting === null ? 0 : counting.max === Number.POSITIVE_INFINITY ? counting.min : counting.max;
  return { index: Math.min(index, indexMax), counted: Math.min(counted, countMax) };
}

function limited({ min, max }: ObjectPlan, progress: ObjectProgress): ObjectProgress {
  if (max !== Number.POSITIVE_INFINITY) return progress;
  return { ...progress, count: Math.min(progress.count, min) };
}
