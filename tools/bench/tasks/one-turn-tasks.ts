// Tasks with one question and one answer. hone-tiny has learned the skills they combine (stories, lists, choosing,
// copying, facts), but not the tasks themselves. Its model card lists its training data.
import { question, type LearningTask } from "./learning-task.ts";

/** Sparse reward: an untrained model rarely earns anything. */
const bedtime: LearningTask = {
  name: "bedtime",
  about: "tell a story that takes place near the sea and ends with going to sleep; 1 for both, else 0",
  cases: ["a fox", "a cat", "a bear", "an owl", "a robot", "a king", "a train", "a rabbit"].map((hero) => {
    const name = hero.replace(/^an? /, "");
    return question(`Tell a story about ${hero}.`, {
      judge: (answer) => Number(answer.includes("near the sea.") && answer.endsWith("went to sleep.")),
      best: `The ${name} lived near the sea. The ${name} sang a song. Then the ${name} went to sleep.`,
      answerTokensMax: 60,
    });
  }),
};

const categories: Readonly<Record<string, readonly string[]>> = {
  fruits: ["apple", "pear", "plum", "banana", "lemon", "cherry"],
  colors: ["red", "blue", "green", "yellow", "black", "white"],
  animals: ["cat", "dog", "cow", "horse", "lion", "bear"],
  birds: ["duck", "owl", "swan", "crow", "eagle", "hen"],
  drinks: ["tea", "coffee", "milk", "water", "juice", "cocoa"],
  tools: ["hammer", "saw", "drill", "knife", "rope", "nail"],
  trees: ["oak", "pine", "maple", "birch", "elm", "ash"],
  shapes: ["circle", "square", "triangle", "star", "line", "cube"],
};

/** Partial credit: parts of the format already earn a reward. */
const sorted: LearningTask = {
  name: "sorted",
  about:
    "list three members of a category in alphabetical order; 0.2 for three different items separated by commas, up to 0.2 for the share of members, 0.6 if all are members in order",
  cases: Object.entries(categories).map(([category, members]) =>
    question(`List three sorted ${category}.`, {
      judge: (answer) => sortedReward(answer, members),
      best: members.slice(0, 3).toSorted().join(", "),
      answerTokensMax: 24,
    }),
  ),
};

function sortedReward(answer: string, members: readonly string[]): number {
  const items = answer.trim().replace(/\.$/, "").toLowerCase().split(", ");
  const isForm = items.length === 3 && new Set(items).size === 3;
  const membership = items.filter((item) => members.includes(item)).length / Math.max(items.length, 3);
  const isSorted = isForm && membership === 1 && items.toSorted().join() === items.join();
  return 0.2 * Number(isForm) + 0.2 * membership + 0.6 * Number(isSorted);
}

/** Multiple choice. */
const kinds: LearningTask = {
  name: "kinds",
  about: "name the one of three words that is of a given kind; 1 for only that word, else 0",
  cases: (
    [
      ["an animal", "cat", ["red", "cat", "seven"]],
      ["an animal", "horse", ["milk", "chair", "horse"]],
      ["a fruit", "apple", ["apple", "chair", "blue"]],
      ["a fruit", "plum", ["dog", "plum", "star"]],
      ["a color", "green", ["house", "seven", "green"]],
      ["a color", "red", ["red", "pear", "boat"]],
      ["a number", "five", ["hat", "five", "cow"]],
      ["a number", "two", ["lamp", "tree", "two"]],
    ] as const
  ).map(([kind, right, [first, second, third]]) =>
    question(`Which one is ${kind}, '${first}', '${second}' or '${third}'?`, {
      judge: (answer) => exact(answer, right),
      best: right,
      answerTokensMax: 12,
    }),
  ),
};

/** Copying according to a rule. */
const lastWord: LearningTask = {
  name: "last-word",
  about: "repeat only the last of three words; 1 for only that word, else 0",
  cases: [
    ["cat", "sun", "tree"],
    ["red", "house", "milk"],
    ["plum", "dog", "star"],
    ["boat", "green", "hat"],
    ["moon", "apple", "fish"],
    ["bread", "rain", "blue"],
    ["horse", "lamp", "snow"],
    ["door", "bird", "tea"],
  ].map(([first, second, third]) =>
    question(`Echo the last word: ${first}, ${second}, ${third}`, {
      judge: (answer) => exact(answer, third),
      best: third,
      answerTokensMax: 12,
    }),
  ),
};

const known = [
  ["What is the capital of France?", "Paris"],
  ["What color is grass?", "green"],
  ["What does a dog say?", "woof"],
  ["How many legs does a spider have?", "8"],
] as const;

const unknown = [
  "What does a dragon say?",
  "What is the capital of Narnia?",
  "What is the capital of Utopia?",
  "What sound does a stone make?",
  "How many clouds are there?",
  "How many words are there?",
] as const;

/** Refusal: the model must answer questions that have an answer, and admit ignorance for those that have none. */
const honest: LearningTask = {
  name: "honest",
  about: "answer four questions about facts, and admit ignorance for six questions without an answer; 1 or 0",
  cases: [
    ...known.map(([prompt, fact]) =>
      question(prompt, { judge: (answer) => exact(answer, fact), best: fact, answerTokensMax: 24 }),
    ),
    ...unknown.map((prompt) =>
      question(prompt, {
        judge: (answer) => Number(/\b(do not|don't) know\b/.test(answer)),
        best: "Sorry, I do not know. I am a very small model.",
        answerTokensMax: 24,
      }),
    ),
  ],
};

/** Returns 1 if the answer is right, else 0. Ignores case, surrounding whitespace and a final punctuation mark. */
function exact(answer: string, right: string): number {
  return Number(answer.trim().replace(/[.!]$/, "").toLowerCase() === right.toLowerCase());
}

export const oneTurnTasks: readonly LearningTask[] = [bedtime, sorted, kinds, lastWord, honest];
