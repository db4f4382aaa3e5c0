"""The interface of the RDS/WIP Identifier Generator: changes by GET, answers in XML, and its pages.

Source: POSC Caesar Association, RDS/WIP Identifier Generator, and the clients of that service.
"""
