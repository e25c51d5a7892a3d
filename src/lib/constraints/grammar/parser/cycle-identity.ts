// Equality of sets of stacks that form a cycle. Finds equal members of a cycle, and computes a canonical name for a
// cycle, starting from a given member.
import type { StackTops } from "./stacks.ts";

/**
 * A set of stacks that belongs to a cycle. Each entry of `below` is the number of a known set, or a negative number for
 * a member of the cycle: -1 for the first member, -2 for the second, and so on.
 */
export type Member = StackTops;

export const isMember = (below: number): boolean => below < 0;
export const memberAt = (index: number): number => -index - 1;
export const memberIndex = (below: number): number => -below - 1;

/**
 * Returns the equivalence class of each member. Members that contain the same stacks share a class. Classes are
 * numbered in order of first appearance.
 */
export function equivalenceClasses(
  members: readonly Member[],
  spend: (steps: number) => void,
): readonly number[] {
  let classes: readonly number[] = members.map(() => 0);
  for (let count = 1; ;) {
    spend(1 + (members.length >>> 1));
    const numbers = new Map<string, number>();
    const before = classes;
    classes = members.map((member, index) => {
      const look = `${before[index]}:${lookOf(member, (other) => before[other])}`;
      const number = numbers.get(look) ?? numbers.size;
      numbers.set(look, number);
      return number;
    });
    if (numbers.size === count) return classes;
    count = numbers.size;
  }
}

/**
 * Returns the members in the order in which a traversal from the first one reaches them, and the cycle's canonical
 * name for that order.
 */
export function canonicalCycle(
  members: readonly Member[],
  first: number,
): { readonly name: string; readonly order: readonly number[] } {
  const order = [first];
  const places = new Map([[first, 0]]);
  const looks: string[] = [];
  for (const index of order) {
    looks.push(
      lookOf(members[index], (other) => {
        const place = places.get(other) ?? order.push(other) - 1;
        places.set(other, place);
        return place;
      }),
    );
  }
  return { name: looks.join("|"), order };
}

function lookOf({ mayEnd, symbols, below }: Member, nameOf: (member: number) => number): string {
  const ways = below.map((to) => (isMember(to) ? `#${nameOf(memberIndex(to))}` : to));
  return `${mayEnd ? "." : ""}${symbols.join(",")};${ways.join(",")}`;
}
