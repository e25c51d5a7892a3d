// When sets of stacks that lead to each other in a circle are the same as others: which of them are alike, and a name for
// all that is seen of a circle from one of its members, which is the same wherever that circle is made.
import type { StackTops } from "./stacks.ts";

/** A member of a circle: what lies below is a known set, or a member, the first as -1, the second as -2 and so on. */
export type Member = StackTops;

export const isMember = (below: number): boolean => below < 0;
export const memberAt = (index: number): number => -index - 1;
export const memberIndex = (below: number): number => -below - 1;

/** Of each member the class of those with the same stacks; classes are numbered as they first appear. */
export function classesOf(members: readonly Member[], spend: (steps: number) => void): readonly number[] {
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

/** The members in the order in which the first leads to them, and the name of all that is seen on the way. */
export function seenFrom(
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
