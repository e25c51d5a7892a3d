// Changes a small part of a JSON body: replaces a value, or drops, duplicates, renames or adds a field.
import type { Random } from "../../src/base/domain/random.ts";
import { anyPlace, objectsIn, putAt, raw, treeOf, valueAt, write, type JsonTree } from "./json-tree.ts";
import { longText, oddJson, oddName, oddText, oneOf } from "./odd-values.ts";

/** Changes the tree in place. Does nothing if the tree has no suitable place. */
type Mutation = (tree: JsonTree, random: Random, names: readonly string[]) => void;

const mutations: readonly (readonly [weight: number, mutation: Mutation])[] = [
  [6, replaceValue],
  [5, addKnownField],
  [2, addOddField],
  [2, dropValue],
  [2, renameField],
  [2, doubleField],
  [2, repeatItem],
  [2, moveValue],
  [2, changeNumber],
  [2, changeText],
  [1, wrapValue],
];
const weightSum = mutations.reduce((sum, [weight]) => sum + weight, 0);

/**
 * Returns the body as JSON text after `count` random changes.
 *
 * @param names names of fields that the operation accepts anywhere in its body
 */
export function mutatedJson(
  body: unknown,
  count: number,
  { random, names }: { readonly random: Random; readonly names: readonly string[] },
): string {
  // Wraps the body in a list, so that the body itself can be replaced too.
  const tree: JsonTree = { kind: "list", items: [treeOf(body)] };
  for (let done = 0; done < count; done++) anyMutation(random)(tree, random, names);
  return write(tree.items[0] ?? raw(""));
}

function anyMutation(random: Random): Mutation {
  let rest = random.index(weightSum);
  for (const [weight, mutation] of mutations) {
    if (rest < weight) return mutation;
    rest -= weight;
  }
  return replaceValue;
}

function replaceValue(tree: JsonTree, random: Random): void {
  const place = anyPlace(tree, random);
  if (place !== null) putAt(place, raw(oddJson(random)));
}

function addKnownField(tree: JsonTree, random: Random, names: readonly string[]): void {
  addField(tree, random, oneOf(random, names));
}

function addOddField(tree: JsonTree, random: Random): void {
  addField(tree, random, oddName(random));
}

function addField(tree: JsonTree, random: Random, name: string): void {
  const objects = objectsIn(tree);
  if (objects.length === 0) return;
  // Chooses the outermost object in half of the cases, because most fields belong there.
  const object = random.uniform() < 0.5 ? objects[0] : oneOf(random, objects);
  object?.entries.push([name, raw(oddJson(random))]);
}

function dropValue(tree: JsonTree, random: Random): void {
  const place = anyPlace(tree, random);
  if (place === null || place.parent === tree) return;
  if (place.parent.kind === "list") place.parent.items.splice(place.index, 1);
  else place.parent.entries.splice(place.index, 1);
}

function renameField(tree: JsonTree, random: Random, names: readonly string[]): void {
  const objects = objectsIn(tree).filter(({ entries }) => entries.length > 0);
  if (objects.length === 0) return;
  const entry = oneOf(random, oneOf(random, objects).entries);
  const [name] = entry;
  entry[0] = oneOf(random, [name.toUpperCase(), `${name} `, oddName(random), oneOf(random, names)]);
}

function doubleField(tree: JsonTree, random: Random): void {
  const objects = objectsIn(tree).filter(({ entries }) => entries.length > 0);
  if (objects.length === 0) return;
  const { entries } = oneOf(random, objects);
  const [name, value] = oneOf(random, entries);
  entries.push([name, random.uniform() < 0.5 ? value : raw(oddJson(random))]);
}

function repeatItem(tree: JsonTree, random: Random): void {
  const place = anyPlace(tree, random);
  if (place === null || place.parent === tree || place.parent.kind !== "list") return;
  const item = valueAt(place);
  const count = write(item).length > 2000 ? 2 : oneOf(random, [1, 2, 10, 101, 1100]);
  place.parent.items.push(...Array.from({ length: count }, () => item));
}

function moveValue(tree: JsonTree, random: Random): void {
  const [from, to] = [anyPlace(tree, random), anyPlace(tree, random)];
  // Copies the value as text, so that no value can contain itself.
  if (from !== null && to !== null) putAt(to, raw(write(valueAt(from))));
}

function changeNumber(tree: JsonTree, random: Random): void {
  const place = anyPlace(tree, random);
  if (place === null) return;
  const number = Number(write(valueAt(place)));
  if (!Number.isFinite(number)) return;
  const changed = [number + 1, number - 1, -number, number * 1e9, number + 0.5, number / 3];
  putAt(place, raw(String(oneOf(random, changed))));
}

function changeText(tree: JsonTree, random: Random): void {
  const place = anyPlace(tree, random);
  const text = place === null ? "" : write(valueAt(place));
  if (place === null || !text.startsWith('"')) return;
  const inner = text.slice(1, -1);
  const odd = JSON.stringify(oddText(random)).slice(1, -1);
  const changed = [inner + odd, odd + inner, inner.toUpperCase(), longText(300) + inner, `${inner} `];
  putAt(place, raw(`"${oneOf(random, changed)}"`));
}

function wrapValue(tree: JsonTree, random: Random): void {
  const place = anyPlace(tree, random);
  if (place === null) return;
  const text = write(valueAt(place));
  putAt(place, raw(oneOf(random, [`[${text}]`, `{"value":${text}}`, JSON.stringify(text), ` ${text}\n`])));
}
