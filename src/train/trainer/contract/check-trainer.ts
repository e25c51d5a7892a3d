// The contract of every trainer: whoever trains a job for this project passes it. It begins with a new adapter, as any trainer
// can, and asks for what a trainer's profile says it can; what it cannot has to be refused.
import { describe } from "node:test";
import { checkCalls } from "./check-calls.ts";
import { checkNumbers } from "./check-numbers.ts";
import { checkStates } from "./check-states.ts";
import type { Loss } from "../trainer.ts";
import type { MakeTrainers } from "./trainers-under-test.ts";

/** Registers the tests that trainers must pass, under the given name; what is computed is looked at for these losses. */
export function checkTrainer(name: string, make: MakeTrainers, losses: readonly Loss[]): void {
  describe(name, () => {
    checkNumbers(make, losses);
    checkCalls(make);
    checkStates(make);
  });
}
