// Global names of every template: Jinja's functions, and the additions for chat templates.
import type { Clock } from "../../../base/domain/clock.ts";
import { TemplateFault, TemplateRaised } from "../fault.ts";
import { changing, dictMethods, keysOf } from "../methods/collection-methods.ts";
import { hashableKey, iterate, numberOf } from "../values/compare.ts";
import { textOf, typeName } from "../values/show.ts";
import {
  Callable,
  Dict,
  Host,
  Namespace,
  Range,
  Tuple,
  Undefined,
  type CallArguments,
  type Value,
} from "../values/value.ts";
import { Arguments } from "./arguments.ts";
import type { Run } from "./run.ts";
import { strftime } from "./strftime.ts";

export function globalsOf(clock: Clock, run: Run): ReadonlyMap<string, Value> {
  const { budget } = run;
  const functions: readonly Callable[] = [
    new Callable("raise_exception", (args) => {
      throw new TemplateRaised(
        textOf(new Arguments("raise_exception", args, "message").get("message") ?? null, budget),
      );
    }),
    new Callable("strftime_now", (args) =>
      strftime(clock.now(), new Arguments("strftime_now", args, "format").text("format")),
    ),
    new Callable("range", rangeOf),
    dictClass(run),
    new Callable("namespace", (args) => new Namespace(namespaceMembers(dictOf(args))), { typeName: "type" }),
    new Callable("cycler", ({ positional }) => new Cycler(positional), { typeName: "type" }),
    new Callable("joiner", (args) => joinerOf(new Arguments("joiner", args, "| sep").getOr("sep", ", ")), {
      typeName: "type",
    }),
  ];
  return new Map(functions.map((one) => [one.name, one]));
}

/** Maximum length of a range, as in the sandbox of Python's Jinja, in which Hugging Face runs chat templates. */
const rangeLengthMax = 100_000;

function rangeOf({ positional, named }: CallArguments): Range {
  if (named.size > 0) throw new TemplateFault("range() takes no keyword arguments");
  if (positional.length < 1 || positional.length > 3)
    throw new TemplateFault(`range expected 1 to 3 arguments, got ${positional.length}`);
  const numbers = positional.map((value) => {
    const number = numberOf(value);
    if (typeof number === "bigint") return number;
    throw new TemplateFault(`'${typeName(value)}' object cannot be interpreted as an integer`);
  });
  const [start, stop, step = 1n] = numbers.length === 1 ? [0n, numbers[0]] : numbers;
  if (step === 0n) throw new TemplateFault("range() arg 3 must not be zero");
  const range = new Range({ start, stop, step });
  if (range.length > rangeLengthMax)
    throw new TemplateFault(`range() of ${range.length} numbers is too long; it may have ${rangeLengthMax}`);
  return range;
}

/**
 * Returns Python's class `dict`. Some templates call its methods with a dict as the first argument. Any other subscript
 * of the class counts as a type parameter: `dict[str]` creates dicts like `dict`.
 */
function dictClass(run: Run): Callable {
  const methods = Object.entries(dictMethods).map(([name, method]): [string, Value] => [
    name,
    new Callable(
      name,
      ({ positional: [self = null, ...positional], named }) => {
        if (self instanceof Dict) return method(self, { positional, named }, run);
        throw new TemplateFault(`dict.${name}() needs a dict first, not ${typeName(self)}`);
      },
      { typeName: "method_descriptor" },
    ),
  ]);
  // Python allows calls of these methods through the class. They are refused here, like calls through a dict, because
  // they would change a conversation.
  const refused = Array.from(changing.dict, (name): [string, Value] => [
    name,
    new Undefined(`access to attribute '${name}' of 'dict' is unsafe.`),
  ]);
  const fromkeys = new Callable("fromkeys", keysOf);
  return new Callable("dict", dictOf, {
    attributes: new Map<string, Value>([...methods, ...refused, ["fromkeys", fromkeys]]),
    parametrized: new Callable("dict", dictOf, { typeName: "GenericAlias" }),
    typeName: "type",
  });
}

/** Evaluates `dict(pairs, **members)`. */
function dictOf({ positional, named }: CallArguments): Dict {
  if (positional.length > 1)
    throw new TemplateFault(`dict expected at most 1 argument, got ${positional.length}`);
  const [first] = positional;
  const dict = new Dict();
  if (first instanceof Dict) for (const [key, value] of first.entries()) dict.set(key, value);
  else if (first !== undefined) {
    for (const item of iterate(first)) {
      const [key, value, ...more] = Array.from(iterate(item));
      if (key === undefined || value === undefined || more.length > 0)
        throw new TemplateFault("dict() needs pairs");
      dict.set(hashableKey(key), value);
    }
  }
  for (const [name, value] of named) dict.set(name, value);
  return dict;
}

function namespaceMembers(dict: Dict): Map<string, Value> {
  return new Map(
    Array.from(dict.entries(), ([key, value]) => {
      if (typeof key !== "string") throw new TemplateFault("the keys of a namespace must be names");
      return [key, value];
    }),
  );
}

class Cycler extends Host {
  readonly typeName = "Cycler";
  readonly #items: readonly Value[];
  #place = 0;

  constructor(items: readonly Value[]) {
    super();
    if (items.length === 0) throw new TemplateFault("at least one item has to be provided");
    this.#items = items;
  }

  attribute(name: string): Value | undefined {
    switch (name) {
      case "current":
        return this.#items[this.#place];
      case "items":
        return new Tuple(this.#items);
      case "pos":
        return BigInt(this.#place);
      case "next":
        return new Callable("next", () => {
          const current = this.#items[this.#place];
          this.#place = (this.#place + 1) % this.#items.length;
          return current;
        });
      case "reset":
        return new Callable("reset", () => {
          this.#place = 0;
          return null;
        });
      default:
        return undefined;
    }
  }
}

function joinerOf(separator: Value): Callable {
  let isUsed = false;
  return new Callable(
    "joiner",
    () => {
      const result = isUsed ? separator : "";
      isUsed = true;
      return result;
    },
    { typeName: "Joiner" },
  );
}
