// Table of the newest jobs: those of all models in the overview, or those of one model.
import type { Page, TrainingJob } from "../../client/api.ts";
import { JobModel, JobReward, JobState } from "../components/tables/job-cells.tsx";
import { shortId } from "../components/short-id.ts";
import { Shown, When, WideTable } from "../components/shown.tsx";
import { addressOf } from "../router.ts";
import type { Loaded } from "../use-loaded.ts";
import { ranFor } from "../views/job-list.ts";

export function RecentJobs({
  jobs,
  model,
}: {
  readonly jobs: Loaded<Page<TrainingJob> | null>;
  /** Full name of the model whose jobs these are; absent for the jobs of all models. */
  readonly model?: string;
}) {
  const isOfModel = model !== undefined;
  return (
    <section>
      <div class="section-head">
        <h2>Newest jobs</h2>
        <a href={addressOf("jobs", [], isOfModel ? { model } : {})}>See all</a>
      </div>
      <Shown loaded={jobs}>
        {(page) =>
          page?.data.length === 0 ? (
            <p>No training jobs yet.</p>
          ) : (
            <WideTable label="Newest jobs">
              <thead>
                <tr>
                  <th scope="col">{isOfModel ? "job" : "model"}</th>
                  <th scope="col">state</th>
                  <th scope="col">reward</th>
                  <th scope="col" class="number">
                    duration
                  </th>
                  <th scope="col">created</th>
                </tr>
              </thead>
              <tbody>
                {page?.data.map((job) => (
                  <tr key={job.id}>
                    <td class="model-name">
                      <a href={addressOf("jobs", [job.id])} data-row>
                        {isOfModel ? <code>{shortId(job.id)}</code> : <JobModel job={job} />}
                      </a>
                    </td>
                    <td>
                      <JobState job={job} />
                    </td>
                    <td class="reward">
                      <JobReward job={job} />
                    </td>
                    <td class="number">{ranFor(job)}</td>
                    <td>
                      <When at={job.created_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </WideTable>
          )
        }
      </Shown>
    </section>
  );
}
