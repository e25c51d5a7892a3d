// Actions on selected jobs: compare their curves, cancel those that have not ended, and retry failed ones.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { Icon } from "../components/icon.tsx";
import { BulkActions, BulkLink, idsOf } from "../components/tables/bulk-actions.tsx";
import { addressOf } from "../router.ts";
import { counted } from "../components/numbers.ts";
import { may } from "../session.ts";

export function JobActions({
  hone,
  jobs,
  table,
  onDone,
}: {
  readonly hone: Hone;
  readonly jobs: readonly TrainingJob[];
  /** The jobs as the table shows them. */
  readonly table: () => readonly object[];
  readonly onDone: () => void;
}) {
  const running = jobs.filter(({ state }) => state === "queued" || state === "running");
  const ended = jobs.filter(({ state }) => state === "failed" || state === "cancelled");
  const doEach = async (
    chosen: readonly TrainingJob[],
    act: (id: string) => Promise<unknown>,
  ): Promise<void> => {
    for (const { id } of chosen) await act(id);
    onDone();
  };
  const cancelled = counted(running.length, "job");
  return (
    <BulkActions rows={jobs} table={table} name="jobs">
      <BulkLink to={addressOf("runs", [], { of: "jobs", ids: idsOf(jobs) })} isOff={jobs.length < 2}>
        <Icon of="compare" /> Compare
      </BulkLink>
      {may("train") && (
        <>
          <BulkLink to={addressOf("train", [], { job: jobs[0]?.id ?? "" })} isOff={jobs.length !== 1}>
            <Icon of="play" /> Train again
          </BulkLink>
          <ActionButton
            isOff={ended.length === 0}
            act={() => doEach(ended, (id) => hone.jobs.retry(id))}
            done={`${counted(ended.length, "job")} queued again.`}
          >
            <Icon of="reload" /> Retry
          </ActionButton>
          <ActionButton
            class="danger"
            isOff={running.length === 0}
            asks={{
              title: `Cancel ${cancelled}?`,
              says: "All training of these jobs so far will be lost.",
              button: `Cancel ${cancelled}`,
            }}
            act={() => doEach(running, (id) => hone.jobs.cancel(id))}
            done={`Cancelling ${cancelled}.`}
          >
            <Icon of="close" /> Cancel
          </ActionButton>
        </>
      )}
    </BulkActions>
  );
}
