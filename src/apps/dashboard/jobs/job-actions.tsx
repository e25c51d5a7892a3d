// Actions on selected jobs: compare their curves, cancel those that have not ended, and retry failed ones.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { useAction } from "../components/forms/use-action.ts";
import { Icon } from "../components/icon.tsx";
import { BulkActions, BulkLink, idsOf } from "../components/tables/bulk-actions.tsx";
import { addressOf } from "../router.ts";
import { counted } from "../components/numbers.ts";
import { may } from "../session.ts";

export function JobActions({
  hone,
  jobs,
  onDone,
}: {
  readonly hone: Hone;
  readonly jobs: readonly TrainingJob[];
  readonly onDone: () => void;
}) {
  const { isBusy, failure, run } = useAction();
  const running = jobs.filter(({ state }) => state === "queued" || state === "running");
  const ended = jobs.filter(({ state }) => state === "failed" || state === "cancelled");
  const doEach = async (
    chosen: readonly TrainingJob[],
    act: (id: string) => Promise<unknown>,
  ): Promise<void> => {
    for (const { id } of chosen) await act(id);
    onDone();
  };
  const cancel = async (): Promise<void> => {
    if (confirm(`Cancel ${counted(running.length, "job")}? All training so far will be lost.`))
      await doEach(running, (id) => hone.jobs.cancel(id));
  };
  return (
    <BulkActions rows={jobs} name="jobs">
      <BulkLink to={addressOf("runs", [], { of: "jobs", ids: idsOf(jobs) })} isOff={jobs.length < 2}>
        <Icon of="compare" /> Compare
      </BulkLink>
      {may("train") && (
        <>
          <BulkLink to={addressOf("train", [], { job: jobs[0]?.id ?? "" })} isOff={jobs.length !== 1}>
            <Icon of="play" /> Train again
          </BulkLink>
          <button
            type="button"
            disabled={isBusy || ended.length === 0}
            onClick={() => run(() => doEach(ended, (id) => hone.jobs.retry(id)))}
          >
            <Icon of="reload" /> Retry
          </button>
          <button
            type="button"
            class="danger"
            disabled={isBusy || running.length === 0}
            onClick={() => run(cancel)}
          >
            <Icon of="close" /> Cancel
          </button>
        </>
      )}
      <Failure of={failure} />
    </BulkActions>
  );
}
