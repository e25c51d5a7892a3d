// Writes the rules of arrays with unique items if the items may be arrays or objects. Each item is compared with the
// earlier ones while it is written, and the rules exclude paths that can only lead to an equal value. Scalars are
// written in their shortest form, names do not repeat and their order does not matter, so values differ if their texts
// do.
import { terminal } from "../../parser/rules.ts";
import type { GrammarSymbol, Productions } from "../../parser/rules.ts";
import type { Expression } from "../../../regex/expressions.ts";
import type { Compilation } from "../../compilation.ts";
import type { Goal } from "../goals.ts";
import { afterItem, canFinishArray, isDistinct, itemAt, mayClose, startOfArray } from "./array-counts.ts";
import type { ArrayPlan, ArrayProgress } from "./array-counts.ts";
import { scalarsOf } from "./comparable.ts";
import type { Scalars } from "./comparable.ts";
import type { JsonStyle } from "./json-style.ts";
import { otherNames } from "./other-names.ts";
import { afterDeclared, canFinishObject, mayCloseObject, startOf, withDistinctNames } from "./plan-object.ts";
import type { ObjectPlan, ObjectProgress } from "./plan-object.ts";
import type { Plans } from "./plans.ts";
import { UsedTexts } from "./used-texts.ts";
import { WrittenValues } from "./written-values.ts";
import type { WrittenValue } from "./written-values.ts";

/** An array or object being written. */
type Container = OpenArray | OpenObject;

interface Open {
  /** Number of the container. Containers with the same continuations have the same number. */
  readonly id: number;
  /** Name of the container's plan, as part of rule names. */
  readonly name: string;
  readonly content: WrittenValue;
  /** Slot in the outer container that this container fills; null for the outermost array. */
  readonly slot: Slot | null;
  /** Earlier values that the container may still become equal to. */
  readonly rivals: readonly WrittenValue[];
}

interface OpenArray extends Open {
  readonly type: "array";
  readonly plan: ArrayPlan;
  readonly progress: ArrayProgress;
}

interface OpenObject extends Open {
  readonly type: "object";
  readonly plan: ObjectPlan;
  readonly progress: ObjectProgress;
  /** Undeclared names that have been used. */
  readonly used: UsedTexts;
}

/** Position in a container at which the next value is written. */
type Slot = {
  readonly goals: readonly Goal[];
  /** Earlier values that the next value may become equal to. */
  readonly rivals: readonly WrittenValue[];
} & (
  | { readonly container: OpenArray; readonly after: ArrayProgress }
  | {
      readonly container: OpenObject;
      readonly after: ObjectProgress;
      readonly key: string;
      readonly used: UsedTexts;
    }
);

/** One way to continue the text: grammar symbols, and the state after them. */
interface Way {
  readonly symbols: readonly GrammarSymbol[];
  /**
   * State after the symbols. Null at the end of the outermost array. Also null if the last symbol is a recall symbol,
   * because that symbol itself leads to the next state.
   */
  readonly to: Container | Slot | null;
}

const rivalsPerStepLog2 = 3;

export class DistinctValues {
  readonly #plans: Plans;
  readonly #style: JsonStyle;
  readonly #values = new WrittenValues();
  readonly #ids = new Map<string, number>();
  readonly #reaches = new Map<string, boolean>();
  readonly #scalars = new Map<Goal, Scalars>();

  constructor(plans: Plans, style: JsonStyle) {
    this.#plans = plans;
    this.#style = style;
  }

  /** Returns the symbol for the array's text after the opening bracket, including the closing bracket. */
  inside(plan: ArrayPlan, name: string): GrammarSymbol {
    return this.#rule(this.#openArray(plan, name, null));
  }

  #rule(at: Container | Slot): GrammarSymbol {
    return this.#compilation.rules.rule(`distinct ${nameOf(at)}`, () =>
      this.#ways(at)
        .filter(({ to }) => to === null || this.#isOpen(to))
        .map(({ symbols, to }) => (to === null ? symbols : [...symbols, this.#rule(to)])),
    );
  }

  /** True if the text can be continued to a value that differs from all earlier ones. */
  #isOpen(at: Container | Slot): boolean {
    if (at.rivals.length === 0) return true;
    const name = nameOf(at);
    const known = this.#reaches.get(name);
    if (known !== undefined) return known;
    const isOpen = this.#ways(at).some(({ to }) => to === null || this.#isOpen(to));
    this.#reaches.set(name, isOpen);
    return isOpen;
  }

  #ways(at: Container | Slot): readonly Way[] {
    if ("goals" in at) return this.#waysOfValue(at);
    return at.type === "array" ? this.#waysOfArray(at) : this.#waysOfObject(at);
  }

  #waysOfValue(slot: Slot): readonly Way[] {
    const rivals = new Set(slot.rivals);
    return slot.goals.flatMap((goal) => [
      ...this.#waysOfScalar(slot, goal, rivals),
      ...this.#plans.plans(goal).flatMap((plan, index): readonly Way[] => {
        const name = `${goal} ${index}`;
        const { open } = this.#style;
        if (plan.type === "array")
          return [{ symbols: [terminal(open("["))], to: this.#openArray(plan, name, slot) }];
        if (plan.type === "object")
          return [{ symbols: [terminal(open("{"))], to: this.#openObject(plan, name, slot) }];
        return [];
      }),
    ]);
  }

  #waysOfScalar(slot: Slot, goal: Goal, rivals: ReadonlySet<WrittenValue>): readonly Way[] {
    const { automaton, recalls } = this.#compilation;
    const { texts } = this.#plans.meanings;
    const { listed, others } = this.#scalarsOf(goal);
    const encoder = new TextEncoder();
    const before = [...rivals].flatMap((rival) => rival.text ?? []);
    const known =
      others === null ? [] : before.filter((text) => automaton.matches(others, encoder.encode(text)));
    const ways = [...listed, ...known].flatMap((text): readonly Way[] => {
      const to = this.#filled(slot, this.#values.scalar(text));
      return to === null ? [] : [{ symbols: [terminal(texts.literal(text))], to }];
    });
    const left = others === null ? null : this.#without(others, known);
    if (left === null || automaton.isEmpty(left)) return ways;
    const behind = (value: WrittenValue): Productions => {
      const to = this.#filled(slot, value);
      return to === null ? [] : [[this.#rule(to)]];
    };
    const recall = recalls.add({
      behind: (text) => behind(this.#values.scalar(text)),
      afterUnknown: () => behind(this.#values.unknown()),
    });
    return [...ways, { symbols: [terminal(left), recall], to: null }];
  }

  #scalarsOf(goal: Goal): Scalars {
    const scalars = this.#scalars.get(goal) ?? scalarsOf(this.#plans.meanings, goal);
    this.#scalars.set(goal, scalars);
    return scalars;
  }

  #without(texts: Expression, some: readonly string[]): Expression {
    const { expressions } = this.#compilation;
    return some.length === 0 ? texts : expressions.and(texts, expressions.not(expressions.listedText(some)));
  }

  /** Returns the slot's container with the value added; null if the value repeats an item that must be unique. */
  #filled(slot: Slot, value: WrittenValue): Container | null {
    const { content, rivals } = slot.container;
    this.#compilation.budget.spend(1 + (rivals.length >>> rivalsPerStepLog2));
    if ("key" in slot) {
      const { container, after, key, used } = slot;
      return this.#identified({
        ...container,
        content: this.#values.object(new Map(content.members).set(key, value)),
        rivals: rivals.filter(({ members }) => members.get(key) === value),
        progress: after,
        used,
      });
    }
    const { container, after } = slot;
    if (isDistinct(container.plan) && content.items.includes(value)) return null;
    const index = content.items.length;
    return this.#identified({
      ...container,
      content: this.#values.array([...content.items, value]),
      rivals: rivals.filter(({ items }) => items[index] === value),
      progress: after,
    });
  }

  #openArray(plan: ArrayPlan, name: string, slot: Slot | null): OpenArray {
    const content = this.#values.array([]);
    const rivals = slot?.rivals.filter(({ type }) => type === "array") ?? [];
    return this.#identified({
      id: 0,
      rivals,
      type: "array",
      plan,
      name,
      content,
      slot,
      progress: startOfArray(plan),
    });
  }

  #openObject(bare: ObjectPlan, name: string, slot: Slot): OpenObject {
    const isFree = bare.nameCounts === null && bare.rules.length > 0;
    const plan = isFree ? withDistinctNames(this.#plans.meanings, bare) : bare;
    const content = this.#values.object(new Map());
    const [progress, used] = [startOf(plan), UsedTexts.none(this.#compilation)];
    const rivals = slot.rivals.filter(({ type }) => type === "object");
    return this.#identified({ id: 0, type: "object", plan, name, content, slot, rivals, progress, used });
  }

  #identified<T extends Container>(container: T): T {
    const { name, content, slot, progress } = container;
    const within = slot === null ? "" : nameOf(slot);
    const key = `${name} ${content.id} ${JSON.stringify(progress)} ${within}`;
    const id = this.#ids.get(key) ?? this.#ids.size + 1;
    this.#ids.set(key, id);
    return { ...container, id };
  }

  #waysOfArray(array: OpenArray): readonly Way[] {
    const { plan, progress } = array;
    const { comma, close, closeEmpty } = this.#style;
    const { isSatisfiable } = this.#plans;
    const isFirst = progress.index === 0;
    const { content, rivals } = array;
    const before = rivals.flatMap(({ items: others }) => others[content.items.length] ?? []);
    const slot = { container: array, rivals: isDistinct(plan) ? [...before, ...content.items] : before };
    const items = itemAt(plan, progress.index)
      .map((way) => ({ goal: way.goal, after: afterItem(progress, way) }))
      .filter(({ goal, after }) => isSatisfiable(goal) && canFinishArray(plan, after, isSatisfiable))
      .map(({ goal, after }): Way => ({
        symbols: isFirst ? [] : [terminal(comma)],
        to: { ...slot, goals: [goal], after },
      }));
    if (!mayClose(plan, progress)) return items;
    return [...items, ...this.#closed(array, terminal(isFirst ? closeEmpty("]") : close("]")))];
  }

  #waysOfObject(object: OpenObject): readonly Way[] {
    const { plan, progress, content } = object;
    const { comma, close, closeEmpty } = this.#style;
    const isFirst = content.members.size === 0;
    const properties = [...this.#declared(object), ...this.#others(object)];
    const ways = isFirst
      ? properties
      : properties.map(({ symbols, to }) => ({ symbols: [terminal(comma), ...symbols], to }));
    if (!mayCloseObject(plan, progress)) return ways;
    return [...ways, ...this.#closed(object, terminal(isFirst ? closeEmpty("}") : close("}")))];
  }

  #closed({ slot, content }: Container, sign: GrammarSymbol): readonly Way[] {
    if (slot === null) return [{ symbols: [sign], to: null }];
    const to = this.#filled(slot, content);
    return to === null ? [] : [{ symbols: [sign], to }];
  }

  /** Returns the declared properties that may come next, up to and including the first required one. */
  #declared(object: OpenObject): readonly Way[] {
    const { plan, progress, used } = object;
    const { isSatisfiable, meanings } = this.#plans;
    const ways: Way[] = [];
    for (let position = progress.position; position < plan.declared.length; position++) {
      const { name, goal, isRequired } = plan.declared[position];
      const after = afterDeclared(plan, progress, position);
      if (isSatisfiable(goal) && canFinishObject(plan, after, isSatisfiable)) {
        const key = JSON.stringify(name);
        const symbols = [this.#keyed(meanings.texts.literal(key))];
        const rivals = rivalMembers(object, key);
        ways.push({ symbols, to: { container: object, goals: [goal], rivals, after, key, used } });
      }
      if (isRequired) break;
    }
    return ways;
  }

  #others(object: OpenObject): readonly Way[] {
    const { plan, progress, used, content } = object;
    if (plan.declared.slice(progress.position).some(({ isRequired }) => isRequired)) return [];
    const { automaton, recalls } = this.#compilation;
    const { texts } = this.#plans.meanings;
    const encoder = new TextEncoder();
    const rivalNames = new Set(object.rivals.flatMap(({ members }) => [...members.keys()]));
    const ahead = [...rivalNames].filter((name) => !content.members.has(name));
    return otherNames(this.#plans, plan, { progress, used }).flatMap(
      ({ key, goal, after }): readonly Way[] => {
        const free = used.leftOf(key);
        const known = ahead.filter((text) => automaton.matches(free, encoder.encode(text)));
        const slotOf = (text: string, more: UsedTexts): Slot => ({
          container: object,
          goals: [goal],
          rivals: rivalMembers(object, text),
          after,
          key: text,
          used: more,
        });
        const ways = known.map((text): Way => ({
          symbols: [this.#keyed(texts.literal(text))],
          to: slotOf(text, used.with(text)),
        }));
        const left = this.#without(free, known);
        if (automaton.isEmpty(left)) return ways;
        const behind = (text: string, more: UsedTexts): Productions => [
          [terminal(this.#style.colon), this.#rule(slotOf(text, more))],
        ];
        const recall = recalls.add({
          behind: (text) => behind(text, used.with(text)),
          // A key without quotation marks, which therefore differs from all real names.
          afterUnknown: () => behind(`unknown ${used.count}`, used.withUnknown()),
        });
        return [...ways, { symbols: [terminal(left), recall], to: null }];
      },
    );
  }

  #keyed(key: Expression): GrammarSymbol {
    return terminal(this.#compilation.expressions.sequence(key, this.#style.colon));
  }

  get #compilation(): Compilation {
    return this.#plans.meanings.compilation;
  }
}

const rivalMembers = ({ rivals }: OpenObject, key: string): readonly WrittenValue[] =>
  rivals.flatMap(({ members }) => members.get(key) ?? []);

/** Returns a key made of everything that the continuations depend on. */
function nameOf(at: Container | Slot): string {
  if (!("goals" in at)) return `behind ${at.id}`;
  const { container, goals, after } = at;
  const key = "key" in at ? JSON.stringify(at.key) : "";
  return `value ${container.id} ${goals.join(",")} ${JSON.stringify(after)} ${key}`;
}
