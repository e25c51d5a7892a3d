// Which tasks a round has: those of a list in an order by the seed, gone through again and again, or what a function draws.
import { seedOf, shuffledBy } from "./seeds.ts";

/** A list, or a function that draws the tasks of a round, counted from 0. */
export type Tasks<Task> = readonly Task[] | ((round: number) => readonly Task[] | Promise<readonly Task[]>);

/**
 * The tasks of a round: the same in every run of the seed, whichever round it begins at.
 *
 * @param count how many of a list; all of it unless given
 */
export async function tasksOfRound<Task>(
  tasks: Tasks<Task>,
  {
    round,
    count,
    seed,
  }: { readonly round: number; readonly count: number | undefined; readonly seed: number },
): Promise<readonly Task[]> {
  if (typeof tasks === "function") return tasks(round);
  const taken = count ?? tasks.length;
  const orders = new Map<number, readonly Task[]>();
  return Array.from({ length: taken }, (_, position) => {
    const place = round * taken + position;
    const turn = Math.floor(place / tasks.length);
    const order = orders.get(turn) ?? shuffledBy(seedOf(seed, "tasks", turn), tasks);
    orders.set(turn, order);
    return order[place % tasks.length];
  });
}
