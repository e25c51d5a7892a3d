// JSON as a tree that can be written in ways that JSON.stringify cannot produce: with duplicate keys, numbers beyond
// doubles, and text that is not JSON.
import type { Random } from "../../src/base/domain/random.ts";

export type JsonTree =
  | { readonly kind: "raw"; text: string }
  | { readonly kind: "list"; readonly items: JsonTree[] }
  | { readonly kind: "object"; readonly entries: [name: string, value: JsonTree][] };

/** Returns a new tree for a value that JSON.stringify accepts. */
export function treeOf(value: unknown): JsonTree {
  if (Array.isArray(value)) return { kind: "list", items: value.map(treeOf) };
  if (typeof value !== "object" || value === null) return raw(JSON.stringify(value) ?? "null");
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return { kind: "object", entries: entries.map(([name, inner]) => [name, treeOf(inner)]) };
}

export function raw(text: string): JsonTree {
  return { kind: "raw", text };
}

export function write(tree: JsonTree): string {
  if (tree.kind === "raw") return tree.text;
  if (tree.kind === "list") return `[${tree.items.map(write).join(",")}]`;
  return `{${tree.entries.map(([name, value]) => `${JSON.stringify(name)}:${write(value)}`).join(",")}}`;
}

/** Position of a value: its index in a list or an object. */
export interface Place {
  readonly parent: Exclude<JsonTree, { kind: "raw" }>;
  readonly index: number;
}

/** Returns a random position at any depth; null if the tree contains no values. */
export function anyPlace(tree: JsonTree, random: Random): Place | null {
  let place: Place | null = null;
  let node = tree;
  for (;;) {
    if (node.kind === "raw") return place;
    const count = node.kind === "list" ? node.items.length : node.entries.length;
    if (count === 0 || (place !== null && random.uniform() < 0.3)) return place;
    place = { parent: node, index: random.index(count) };
    node = valueAt(place);
  }
}

export function valueAt({ parent, index }: Place): JsonTree {
  const value = parent.kind === "list" ? parent.items[index] : parent.entries[index]?.[1];
  return value ?? raw("null");
}

export function putAt({ parent, index }: Place, value: JsonTree): void {
  if (parent.kind === "list") parent.items[index] = value;
  else parent.entries[index] = [parent.entries[index]?.[0] ?? "", value];
}

/** Returns all objects in the tree. */
export function objectsIn(tree: JsonTree): readonly Extract<JsonTree, { kind: "object" }>[] {
  if (tree.kind === "raw") return [];
  if (tree.kind === "list") return tree.items.flatMap(objectsIn);
  return [tree, ...tree.entries.flatMap(([, value]) => objectsIn(value))];
}
