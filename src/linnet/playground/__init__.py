"""The playground, `linnet play`: a page on which networks are trained live by linnet's own engine.

| module | content |
|---|---|
| state | the state of the page as one object that JSON, a link and a preset can hold |
| datasets, tables | data: toy sets, drawn points, digits, the user's own table |
| model | the network, loss and optimizer of a state |
| session | a run that is started, stepped and changed from the page |
| frame | the current state of a run, as bytes |
| explain, approximate | the views of backpropagation and of universal approximation |
| handout | the run as a program, a command and a model file |
| guard, server, player | access control, the application, and one page on its socket |
"""
