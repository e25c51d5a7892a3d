// Equality of sets of stacks in cycles: finds equal members, and a canonical name of a cycle as seen from one member.
import type { StackTops } from "./stacks.ts";

/** A member of a cycle. Each entry below is a known set, or a member: the first as -1, the second as -2, and so on. */
export type Member = StackTops;

export const isMember = (below: number): boolean => below < 0;
export const memberAt = (index: number): number => -index - 1;
export const memberIndex = (below: number): number => -below - 1;

/**
 * Returns each member's class; members with the same stacks share a class. Classes are numbered in order of
 * appearance.
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

/** Returns the members in the order in which the first reaches them, and the canonical name of the cycle from there. */
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
