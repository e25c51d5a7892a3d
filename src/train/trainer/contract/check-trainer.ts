// The contract suite for trainers. A trainer must do everything that its profile promises, starting from a new
// adapter, and refuse everything else.
import { describe } from "node:test";
import { checkCalls } from "./check-calls.ts";
import { checkNumbers } from "./check-numbers.ts";
import { checkStates } from "./check-states.ts";
import type { Loss } from "../trainer.ts";
import type { MakeTrainers } from "./trainers-under-test.ts";

/** Registers the contract's tests for a trainer under a name; they compute these losses. */
export function checkTrainer(name: string, make: MakeTrainers, losses: readonly Loss[]): void {
  describe(name, () => {
    checkNumbers(make, losses);
    checkCalls(make);
    checkStates(make);
  });
}
