"""The playground, `linnet play`: a page on which networks are trained before your eyes by linnet's own engine.

| module | what it has |
|---|---|
| state | all that is on screen as one object that JSON, a link and a preset can hold |
| datasets, tables | what to learn from: toy sets, drawn points, digits, a table of one's own |
| model | the network, loss and optimizer that a state stands for |
| session | a run that is started, stepped and changed from the page |
| frame | what a run looks like now, in bytes |
| explain, approximate | the views of backpropagation and of universal approximation |
| handout | the way out: a program, a command, a model file |
| guard, server, player | who may ask, what is answered, and one page on its socket |
"""
