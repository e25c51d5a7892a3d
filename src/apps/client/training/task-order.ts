// Chooses the tasks of a round. They come from a function, or from a list that is shuffled by the seed. After its last
// task, the list is shuffled again and used from the beginning.
import { seedOf, shuffledBy } from "./seeds.ts";

/** A list of tasks, or a function that returns the tasks of a round; rounds count from 0. */
export type Tasks<Task> = readonly Task[] | ((round: number) => readonly Task[] | Promise<readonly Task[]>);

/**
 * Returns the tasks of a round. They are the same in every run with the same seed, including resumed runs.
 *
 * @param count number of tasks to take from a list; default: all
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
