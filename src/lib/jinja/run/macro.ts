// Binds the arguments of macros and call bodies, including surplus arguments.
import { TemplateFault } from "../fault.ts";
import { type Body, type Expression, type Signature, readsName } from "../syntax/nodes.ts";
import { Dict, Tuple, Undefined, type CallArguments, type Value } from "../values/value.ts";

export interface MacroNode {
  /** Name of the macro; null for the body of a call. */
  readonly name: string | null;
  readonly signature: Signature;
  readonly body: Body;
}

interface Extras {
  readonly caller: boolean;
  readonly named: boolean;
  readonly positional: boolean;
}

/**
 * The surplus arguments that each macro's body reads. Cached, because each run needs them each time it defines the
 * macro.
 */
const extrasOf = new WeakMap<Body, Extras>();

function extras({ body, signature }: MacroNode): Extras {
  const known = extrasOf.get(body);
  if (known !== undefined) return known;
  const reads = (name: string): boolean => !signature.parameters.includes(name) && readsName(body, name);
  const found = { caller: reads("caller"), named: reads("kwargs"), positional: reads("varargs") };
  extrasOf.set(body, found);
  return found;
}

/**
 * Returns the names that a macro's body sees, in the order in which they are set.
 *
 * @throws TemplateFault for arguments that it does not take
 */
export function bindMacro(
  macro: MacroNode,
  { positional, named }: CallArguments,
  setName: (name: string, value: Value) => void,
  evaluate: (node: Expression) => Value,
): void {
  const { parameters, defaults } = macro.signature;
  const { caller, named: takesNamed, positional: takesPositional } = extras(macro);
  const rest = new Map(named);
  parameters.forEach((name, index) => {
    const given = index < positional.length ? positional[index] : rest.get(name);
    if (index >= positional.length) rest.delete(name);
    const otherwise = defaults.at(index - parameters.length);
    if (given !== undefined) setName(name, given);
    else if (index < parameters.length - defaults.length || otherwise === undefined)
      setName(name, new Undefined(`parameter '${name}' was not provided`));
    else setName(name, evaluate(otherwise));
  });
  if (caller) {
    const given = rest.get("caller") ?? null;
    setName("caller", given === null ? new Undefined("No caller defined") : given);
    rest.delete("caller");
  }
  const [strange] = rest.keys();
  if (takesNamed) setName("kwargs", Dict.of(rest));
  else if (strange !== undefined)
    throw new TemplateFault(`macro ${nameOf(macro)} takes no keyword argument '${strange}'`);
  const more = positional.slice(parameters.length);
  if (takesPositional) setName("varargs", new Tuple(more));
  else if (more.length > 0)
    throw new TemplateFault(`macro ${nameOf(macro)} takes not more than ${parameters.length} argument(s)`);
}

function nameOf({ name }: MacroNode): string {
  return name === null ? "None" : `'${name}'`;
}
