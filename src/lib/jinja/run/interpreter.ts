// Runs a template's statements. One run has one set of limits, which apply to everything in it.
import type { Budget } from "../budget.ts";
import { TemplateFault } from "../fault.ts";
import { filters } from "../filters/filters.ts";
import { tests } from "../filters/tests.ts";
import { attributeOf, subscriptOf } from "../methods/attributes.ts";
import type { Body, Expression, Statement } from "../syntax/nodes.ts";
import { isTrue, iterate, lengthOf, listOf } from "../values/compare.ts";
import { textOf, typeName } from "../values/show.ts";
import { Callable, Namespace, Tuple, Undefined, type CallArguments, type Value } from "../values/value.ts";
import { callArguments, evaluate, evaluateMarked, type ExpressionRun } from "./expressions.ts";
import { Loop } from "./loop.ts";
import { bindMacro, type MacroNode } from "./macro.ts";
import { Output, Scope } from "./scope.ts";

/** How a body ended: by `break` or `continue`, which the enclosing loop handles; null if the body reached its end. */
type Ending = "break" | "continue" | null;

type Kind = Statement["kind"];
type Of<K extends Kind> = Statement & { readonly kind: K };
type Rules = { readonly [K in Kind]: (statement: Of<K>, scope: Scope, output: Output) => Ending | void };

/** Maximum nesting of calls of macros and recursive loops. Templates that render nested JSON schemas need far less. */
const callDepthMax = 180;

export class Interpreter implements ExpressionRun {
  readonly budget: Budget;
  line = 1;
  blockText = "";
  #callDepth = 0;

  constructor(budget: Budget) {
    this.budget = budget;
  }

  render(body: Body, scope: Scope): string {
    const output = new Output(this.budget);
    this.#execute(body, scope, output);
    return output.text;
  }

  call(callee: Value, args: CallArguments): Value {
    if (callee instanceof Callable) return callee.invoke(args);
    if (callee instanceof Loop) {
      if (callee.recurse === null)
        throw new TemplateFault("The loop must have the 'recursive' marker to be called recursively.");
      return callee.recurse(args.positional[0] ?? null);
    }
    if (callee instanceof Undefined) throw new TemplateFault(callee.message);
    throw new TemplateFault(`'${typeName(callee)}' object is not callable`);
  }

  attribute(value: Value, name: string): Value {
    return attributeOf(value, name, this);
  }

  item(value: Value, key: Value): Value {
    return subscriptOf(value, key, this);
  }

  filter(name: string, value: Value, args: CallArguments): Value {
    const filter = filters.get(name);
    if (filter === undefined) throw new TemplateFault(`No filter named '${name}'.`);
    return filter(value, args, this);
  }

  test(name: string, value: Value, args: CallArguments): boolean {
    const test = tests.get(name);
    if (test === undefined) throw new TemplateFault(`No test named '${name}'.`);
    return test(value, args, this);
  }

  #evaluate(node: Expression, scope: Scope): Value {
    return evaluate(node, scope, this);
  }

  #execute(body: Body, scope: Scope, output: Output): Ending {
    for (const statement of body) {
      this.budget.spend();
      this.line = statement.line;
      // Safe cast: the rule of a kind takes statements of this kind.
      const rule = this.#rules[statement.kind] as (
        statement: Statement,
        scope: Scope,
        output: Output,
      ) => Ending | void;
      const ending = rule(statement, scope, output) ?? null;
      if (ending !== null) return ending;
    }
    return null;
  }

  readonly #rules: Rules = {
    text: ({ text }, _scope, output) => output.add(text),
    print: ({ value }, scope, output) => output.add(textOf(this.#evaluate(value, scope), this.budget)),
    if: ({ branches, otherwise }, scope, output) => {
      const branch = branches.find(({ test }) => isTrue(this.#evaluate(test, scope)));
      return this.#execute(branch?.body ?? otherwise, scope, output);
    },
    for: (statement, scope, output) =>
      this.#loop(statement, { items: this.#evaluate(statement.iterable, scope), depth0: 0 }, scope, output),
    set: ({ target, value }, scope) => this.#assign(target, evaluateMarked(value, scope, this), scope),
    "set-block": ({ target, filter, body }, scope) => {
      const text = this.render(body, new Scope(scope));
      this.#assign(target, filter === null ? text : this.#filterText(filter, text, scope), scope);
    },
    macro: (statement, scope) => scope.set(statement.name, this.#macro(statement, scope)),
    "call-block": ({ call, signature, body }, scope, output) => {
      const callee = this.#evaluate(call.callee, scope);
      const { positional, named } = callArguments(call.args, scope, this);
      const caller = this.#macro({ name: null, signature, body }, scope);
      const given = { positional, named: new Map([...named, ["caller", caller] as const]) };
      output.add(textOf(this.call(callee, given), this.budget));
    },
    "filter-block": ({ filter, body }, scope, output) => {
      const inner = new Scope(scope);
      output.add(textOf(this.#filterText(filter, this.render(body, inner), inner), this.budget));
    },
    with: ({ targets, values, body }, scope, output) => {
      const inner = new Scope(scope);
      targets.forEach((target, index) => this.#assign(target, this.#evaluate(values[index], scope), inner));
      return this.#execute(body, inner, output);
    },
    scope: ({ isOutermost, body }, scope, output) => {
      output.add(this.render(body, new Scope(isOutermost ? scope.outermost : scope)));
    },
    break: () => "break",
    continue: () => "continue",
    load: ({ tag }) => {
      throw new TemplateFault(`there are no other templates for '${tag}' to load`);
    },
  };

  #filterText(filter: Expression, text: string, scope: Scope): Value {
    this.blockText = text;
    return this.#evaluate(filter, scope);
  }

  #assign(target: Expression, value: Value, scope: Scope): void {
    if (target.kind === "name") scope.set(target.name, value);
    else if (target.kind === "namespace-member") {
      const namespace = scope.get(target.name);
      if (!(namespace instanceof Namespace))
        throw new TemplateFault("cannot assign attribute on non-namespace object");
      namespace.members.set(target.member, value);
    } else if (target.kind === "tuple") {
      const { items } = target;
      const values = listOf(value, this.budget);
      if (values.length > items.length)
        throw new TemplateFault(`too many values to unpack (expected ${items.length})`);
      if (values.length < items.length)
        throw new TemplateFault(
          `not enough values to unpack (expected ${items.length}, got ${values.length})`,
        );
      items.forEach((item, index) => this.#assign(item, values[index], scope));
    }
  }

  #loop(
    statement: Of<"for">,
    { items, depth0 }: { readonly items: Value; readonly depth0: number },
    scope: Scope,
    output: Output,
  ): Ending {
    const { target, test, isRecursive, body, otherwise } = statement;
    const loop: Loop = new Loop({
      items: test === null ? iterate(items) : this.#chosen(statement, test, items, scope),
      length: test === null ? lengthOf(items) : null,
      depth0,
      budget: this.budget,
      recurse: isRecursive
        ? (below) =>
            this.#deeper(() => this.#loopText(statement, { items: below, depth0: depth0 + 1 }, scope))
        : null,
    });
    let isCompleted = false;
    for (let item = loop.advance(); item !== undefined; item = loop.advance()) {
      this.budget.spend();
      const inner = new Scope(scope, [["loop", loop]]);
      this.#assign(target, item, inner);
      const ending = this.#execute(body, inner, output);
      if (ending === "break") break;
      // As in Jinja, if `break` or `continue` ends every iteration, the loop counts as one without items.
      if (ending === null) isCompleted = true;
    }
    return isCompleted ? null : this.#execute(otherwise, new Scope(scope), output);
  }

  #loopText(
    statement: Of<"for">,
    turn: { readonly items: Value; readonly depth0: number },
    scope: Scope,
  ): string {
    const output = new Output(this.budget);
    this.#loop(statement, turn, scope, output);
    return output.text;
  }

  /** Yields the items that pass the loop's condition, which is evaluated lazily. */
  *#chosen({ target }: Of<"for">, test: Expression, items: Value, scope: Scope): Generator<Value> {
    for (const item of iterate(items)) {
      this.budget.spend();
      const inner = new Scope(scope);
      this.#assign(target, item, inner);
      if (isTrue(this.#evaluate(test, inner))) yield item;
    }
  }

  #macro(macro: MacroNode, scope: Scope): Callable {
    const invoke = (args: CallArguments): Value =>
      this.#deeper(() => {
        const inner = new Scope(scope);
        bindMacro(
          macro,
          args,
          (name, value) => inner.set(name, value),
          (node) => this.#evaluate(node, inner),
        );
        return this.render(macro.body, inner);
      });
    const attributes = new Map<string, Value>([
      ["name", macro.name],
      ["arguments", new Tuple([...macro.signature.parameters])],
    ]);
    const { name } = macro;
    return new Callable(name ?? "anonymous", invoke, { attributes, typeName: "Macro" });
  }

  #deeper<Result>(work: () => Result): Result {
    if (this.#callDepth >= callDepthMax) throw new TemplateFault("its calls are nested too deeply");
    this.#callDepth += 1;
    try {
      return work();
    } finally {
      this.#callDepth -= 1;
    }
  }
}
