import fc from 'fast-check';

// The same values in every run, so that a failure belongs to the change that brought it; `npm run fuzz` draws others.
fc.configureGlobal({ seed: 1 });

export default fc;
