// Greetings and small talk: hellos with and without a name, thanks, goodbyes, and questions about who is speaking.
import type { Random } from "../../../../src/base/domain/random.ts";
import { chance, type Exercise, type Kind, pick, typedFreely, wordsOf } from "./exercise.ts";
import { drawName } from "./words.ts";

const hellos = [
  "Hello",
  "Hi",
  "Hey",
  "Good morning",
  "Good evening",
  "Good day",
  "Greetings",
  "Hi there",
  "Hello there",
] as const;
const introductions = [
  "I am {name}",
  "my name is {name}",
  "{name} here",
  "I'm {name}",
  "this is {name}",
  "call me {name}",
] as const;
const feelings = [
  "How are you?",
  "How are you today?",
  "How do you do?",
  "How is it going?",
  "Are you well?",
  "How do you feel?",
] as const;
const identities = [
  "Who are you?",
  "What is your name?",
  "What are you?",
  "Tell me your name.",
  "What can I call you?",
  "Are you a person?",
  "Introduce yourself.",
] as const;
const thanks = [
  "Thanks",
  "Thank you",
  "Thank you very much",
  "Thanks a lot",
  "Many thanks",
  "Great, thanks",
  "Ok, thank you",
  "Thanks for your help",
] as const;
const goodbyes = [
  "Bye",
  "Goodbye",
  "See you",
  "Good night",
  "See you later",
  "Bye for now",
  "I have to go, bye",
  "Have a nice day",
] as const;
const offers = [
  "Can you help me?",
  "I need help.",
  "What can you do?",
  "Help me, please.",
  "Are you there?",
] as const;

const replies = {
  hello: ["Hello! How can I help you?", "Hi! What can I do for you?"],
  feeling: ["I am fine, thank you.", "I am well, thanks for asking."],
  identity: ["I am Hone, a very small language model.", "My name is Hone. I am a small language model."],
  thanks: ["You are welcome!", "Glad to help!"],
  goodbye: ["Goodbye!", "Bye! See you soon."],
  offer: ["Yes. I can copy, spell, add, choose and tell tiny stories.", "I am here. Ask me something small."],
} as const;

type Reply = keyof typeof replies;

function drawHello(random: Random): Exercise {
  const hello = pick(random, hellos);
  if (chance(random, 0.5)) {
    const name = drawName(random);
    const introduction = pick(random, introductions).replace("{name}", name);
    const answers = [`Hello, ${name}! How can I help you?`, `Hi, ${name}! Nice to meet you.`];
    const prompt = `${hello}, ${introduction}${pick(random, [".", "!", ""])}`;
    return { ...among(random, prompt, answers, false), contents: wordsOf(name) };
  }
  if (chance(random, 0.4))
    return among(random, `${hello}, ${lowered(pick(random, feelings))}`, replies.feeling, true);
  return among(random, `${hello}${pick(random, ["!", ".", ""])}`, replies.hello, true);
}

function drawSmallTalk(random: Random): Exercise {
  const [questions, reply] = pick(random, [
    [feelings, "feeling"],
    [identities, "identity"],
    [thanks, "thanks"],
    [goodbyes, "goodbye"],
    [offers, "offer"],
  ] as readonly (readonly [readonly string[], Reply])[]);
  const question = pick(random, questions);
  const opened = chance(random, 0.4)
    ? `${pick(random, [...hellos, "Ok", "Well", "So", "Nice", "Great"])}, ${lowered(question)}`
    : question;
  const named = chance(random, 0.25)
    ? `${opened.replace(/[.?!]$/, "")}, ${pick(random, ["Hone", "friend", "my friend"])}${/[.?!]$/.exec(opened)?.[0] ?? ""}`
    : opened;
  return among(random, named, replies[reply], true);
}

function lowered(text: string): string {
  return /^I\b/.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1);
}

function among(random: Random, prompt: string, answers: readonly string[], freely: boolean): Exercise {
  return {
    kind: "greetings",
    prompt: freely ? typedFreely(random, prompt) : prompt,
    answer: pick(random, answers),
    accepts: (given) => answers.includes(given),
    contents: [],
  };
}

/** Exercises whose answer is a fitting standard phrase. It repeats the name if the prompt contains one. */
export const greetings: Kind = {
  name: "greetings",
  weight: 0.7,
  heldOut: "names",
  draw: (random) => (chance(random, 0.4) ? drawHello(random) : drawSmallTalk(random)),
};
