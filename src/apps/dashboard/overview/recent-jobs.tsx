// Table of the newest jobs in the overview.
import type { Page, TrainingJob } from "../../client/api.ts";
import { JobModel, JobReward, JobState } from "../components/tables/job-cells.tsx";
import { Shown, When, WideTable } from "../components/shown.tsx";
import { addressOf } from "../router.ts";
import type { Loaded } from "../use-loaded.ts";
import { ranFor } from "../views/job-list.ts";

export function RecentJobs({ jobs }: { readonly jobs: Loaded<Page<TrainingJob> | null> }) {
  return (
    <section>
      <div class="section-head">
        <h2>Newest jobs</h2>
        <a href={addressOf("jobs")}>See all</a>
      </div>
      <Shown loaded={jobs}>
        {(page) => (
          <WideTable label="Newest jobs">
            <thead>
              <tr>
                <th scope="col">model</th>
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
                      <JobModel job={job} />
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
        )}
      </Shown>
    </section>
  );
}
